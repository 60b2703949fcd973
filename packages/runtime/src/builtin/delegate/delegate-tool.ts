import { type AgentSpec, displayDescription } from "@awaken/contract/spec";
import { delegateToolId } from "../../registry/agent-tool-ids.ts";
import { whenThere } from "../../stream/door.ts";
import type { Tool } from "../../tool/tool.ts";
import { lateTool } from "../late-tool.ts";
import { toolWork } from "../tool-work-door.ts";

const PARAMETERS = {
  type: "object",
  properties: { prompt: { type: "string", description: "What the agent is to do. It sees nothing else of this conversation." } },
  required: ["prompt"],
  additionalProperties: false,
};

/**
 * Asks another agent. A child that is kept has an id that follows from the call, so a second attempt finds the first: it is run again after
 * a crash. What another server does cannot be looked up, so there a person decides.
 */
export const delegateTool = (agent: AgentSpec): Tool =>
  lateTool(
    {
      id: delegateToolId(agent.id),
      description: displayDescription(agent),
      parameters: PARAMETERS,
      idempotent: agent.type === "local",
    },
    () => whenThere(toolWork.open(), ({ delegateWork }) => delegateWork(agent.id)),
  );
