import { type Message, messageId, type RunProjection, statusOfTermination, type TaskEvent } from "@awaken/contract";
import { taskMessage } from "../loop/task-message.ts";

/** A run that is a background task of another thread, and is over. */
export type EndedTask = Extract<RunProjection, { status: "done" }>;

/** What the thread of whoever started it is told. */
export function endOfTask({ activation, agentId, outcome }: EndedTask): TaskEvent | undefined {
  const { taskId } = activation.trace;
  if (taskId === undefined) return undefined;
  const status = statusOfTermination(outcome.termination);
  switch (status.type) {
    case "completed":
      return { kind: "completed", taskId, result: { agent: agentId, response: outcome.response } };
    case "cancelled":
      return { kind: "cancelled", taskId };
    case "failed":
      return { kind: "failed", taskId, error: status.message };
    default:
      return { kind: "failed", taskId, error: status.type };
  }
}

/** The same message whoever tells it: a thread has room for it once. */
export function endNews(run: EndedTask): Message | undefined {
  const event = endOfTask(run);
  return event === undefined ? undefined : taskMessage(messageId(`task-end:${run.runId}`), event);
}
