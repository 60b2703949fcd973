import { CANCEL_TASK_TOOL } from "../../registry/agent-tool-ids.ts";
import { whenThere } from "../../stream/door.ts";
import type { Tool } from "../../tool/tool.ts";
import { lateTool } from "../late-tool.ts";
import { relation } from "../relation.ts";
import { toolWork } from "../tool-work-door.ts";

const PARAMETERS = {
  type: "object",
  properties: {
    target: {
      oneOf: [relation("self"), relation("child", { name: { type: "string", description: "The id or name of a task" } })],
    },
  },
  required: ["target"],
};

/** Lets a model stop what it has started in the background, or itself with all of it. */
export const cancelTaskTool: Tool = lateTool(
  {
    id: CANCEL_TASK_TOOL,
    description: "Stops a task that you have started in the background, with all that it started; or yourself, with all of them.",
    parameters: PARAMETERS,
    idempotent: true,
  },
  () => whenThere(toolWork.open(), ({ cancelTaskWork }) => cancelTaskWork),
);
