import { type AgentSpec, displayDescription } from "@awaken/contract/spec";
import { HANDOFF_TOOL } from "../../registry/agent-tool-ids.ts";
import { whenThere } from "../../stream/door.ts";
import type { Tool } from "../../tool/tool.ts";
import { lateTool } from "../late-tool.ts";
import { toolWork } from "../tool-work-door.ts";

const line = (agent: AgentSpec): string => `- ${agent.id}: ${displayDescription(agent)}`;

/** Hands the run over to one of these agents, and to no other. It takes effect before the next step. */
export function handoffTool(targets: readonly AgentSpec[]): Tool {
  const ids = targets.map(({ id }) => id);
  return lateTool(
    {
      id: HANDOFF_TOOL,
      description: `Hands this conversation over to another agent, which goes on with it instead of you. Agents:\n${targets.map(line).join("\n")}`,
      parameters: {
        type: "object",
        properties: { agent: { type: "string", enum: ids } },
        required: ["agent"],
        additionalProperties: false,
      },
      // It changes the state of the thread and nothing outside.
      pure: true,
    },
    () => whenThere(toolWork.open(), ({ handoffWork }) => handoffWork(ids)),
  );
}
