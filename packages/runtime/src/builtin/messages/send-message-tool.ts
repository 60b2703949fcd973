import { SEND_MESSAGE_TOOL } from "../../registry/agent-tool-ids.ts";
import { whenThere } from "../../stream/door.ts";
import type { Tool } from "../../tool/tool.ts";
import { lateTool } from "../late-tool.ts";
import { relation } from "../relation.ts";
import { toolWork } from "../tool-work-door.ts";

const PARAMETERS = {
  type: "object",
  properties: {
    to: {
      oneOf: [
        relation("parent"),
        relation("child", { name: { type: "string", description: "Task name or ID" } }),
        relation("agent", { thread_id: { type: "string" } }, { agent_id: { type: "string" } }),
      ],
    },
    message: { type: "string" },
  },
  required: ["to", "message"],
};

/** Lets a model speak to its parent, to what it has started in the background, and to agents of other threads. */
export const sendMessageTool: Tool = lateTool(
  {
    id: SEND_MESSAGE_TOOL,
    description:
      "Says something to another agent: the one that started you, a task that you have started, or one on another thread. You get a receipt, and no answer.",
    parameters: PARAMETERS,
    // Its id follows from the call: sent twice, it is there once.
    idempotent: true,
  },
  () => whenThere(toolWork.open(), ({ sendMessageWork }) => sendMessageWork),
);
