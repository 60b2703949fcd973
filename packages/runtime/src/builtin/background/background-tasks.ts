import { definePlugin, type Plugin } from "../../plugin/define-plugin.ts";
import { sendMessageTool } from "../messages/send-message-tool.ts";
import { cancelTaskTool } from "./cancel-task-tool.ts";

/**
 * The tools with which a model looks after background work: `cancel_task` and `send_message`. Tool code has `ctx.tasks` with or without it:
 * what runs in the background of a thread is kept once, by the runtime.
 */
export const backgroundTasks: Plugin = definePlugin({
  id: "background_tasks",
  register(r) {
    r.tool(cancelTaskTool);
    r.tool(sendMessageTool);
  },
});
