import { RECOVER_TOOL } from "../../registry/agent-tool-ids.ts";
import { whenThere } from "../../stream/door.ts";
import type { Tool } from "../../tool/tool.ts";
import { lateTool } from "../late-tool.ts";
import { toolWork } from "../tool-work-door.ts";

/** For those who look after a thread: messages of it that nobody could deliver. */
export const recoverTool: Tool = lateTool(
  {
    id: RECOVER_TOOL,
    description: "Messages to other agents that could not be delivered: lists them, sends them again, or gives them up.",
    parameters: { type: "object", properties: { action: { enum: ["list", "replay", "clear"], default: "list" } } },
    pure: true,
  },
  () => whenThere(toolWork.open(), ({ recoverWork }) => recoverWork),
);
