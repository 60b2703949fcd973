import { copyJson, freezeJson, type JsonValue, type Message, type MessageId, type TaskEvent, toJson } from "@awaken/contract";

/** Attribute values are quoted, and the body cannot close the tag that it stands in. */
function taskText(event: TaskEvent): string {
  const { taskId, kind, ...rest } = event;
  const body = JSON.stringify(rest).replaceAll("<", "\\u003c");
  return `<background-task-event kind=${JSON.stringify(kind)} task_id=${JSON.stringify(taskId)}>${body}</background-task-event>`;
}

/** How the model reads of background work, and the run that takes it in. */
export const taskMessage = (id: MessageId, event: TaskEvent): Message => ({
  id,
  role: "user",
  visibility: "internal",
  content: [{ type: "text", text: taskText(event) }],
  metadata: { task: copyJson(event) },
});

/** The task whose end a message tells. */
export const endIn = ({ metadata }: Message): string | undefined =>
  metadata?.task === undefined || metadata.task.kind === "custom" ? undefined : metadata.task.taskId;

const isPlain = (result: unknown): result is string => typeof result === "string";

/** What code gives, as it is told: anything else than JSON is made so, and the code may keep its own. */
export function toResult(value: unknown): JsonValue {
  if (isPlain(value)) return value;
  const own = copyJson(toJson(value));
  freezeJson(own);
  return own;
}
