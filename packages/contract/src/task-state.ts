import * as s from "./schema/all.ts";
import { jsonValueSchema, runIdSchema, threadIdSchema } from "./stored.ts";
import { taskId } from "./task.ts";

// Work in the background of a thread, as it is stored.

const countSchema = s.int().check(s.atLeast(0));

export const TASK_STATUSES = ["running", "completed", "failed", "cancelled"] as const;
export type TaskStatus = (typeof TASK_STATUSES)[number];

/** What started a task. */
export const taskParentSchema = s.strictObject({
  /** The task whose body started it. */
  taskId: s.exactOptional(taskId),
  /** The run that it belongs to: cancelling that cancels it. */
  runId: s.exactOptional(runIdSchema),
  /** The call that started it. */
  callId: s.exactOptional(s.string()),
  /** The agent that was at work. */
  agentId: s.exactOptional(s.string()),
});
export type TaskParent = s.output<typeof taskParentSchema>;

/** One task of a thread. What it runs is never stored. */
export const taskRecordSchema = s.strictObject({
  taskId,
  ownerThreadId: threadIdSchema,
  /** As whoever started it calls it; `sub_agent` for an agent. */
  taskType: s.string(),
  name: s.exactOptional(s.string()),
  description: s.string(),
  status: s.enum(TASK_STATUSES),
  error: s.exactOptional(s.string()),
  result: s.exactOptional(jsonValueSchema),
  createdAt: countSchema,
  completedAt: s.exactOptional(countSchema),
  parent: taskParentSchema,
  /** The run that it is, if it is one. */
  childRunId: s.exactOptional(runIdSchema),
  /** The process that executes it, if it is code. */
  host: s.exactOptional(s.string()),
});
export type TaskRecord = s.output<typeof taskRecordSchema>;

/** The tasks of a thread in the order of their creation, and the number of the next one. */
export const backgroundTasksSchema = s.strictObject({ next: countSchema, tasks: s.readonly(s.array(taskRecordSchema)) });
export type BackgroundTaskState = s.output<typeof backgroundTasksSchema>;

/** A message of an agent to another, as it waits to be delivered. */
const agentMessageSchema = s.strictObject({
  messageId: s.string(),
  recipientThreadId: threadIdSchema,
  recipientAgentId: s.nullable(s.string()),
  senderAgentId: s.string(),
  message: s.string(),
});

/** Messages that are not delivered yet, in their order. */
export const messageOutboxSchema = s.strictObject({
  pending: s.readonly(s.array(s.strictObject({ id: s.string(), request: agentMessageSchema, attempts: countSchema }))),
});
export type MessageOutbox = s.output<typeof messageOutboxSchema>;

/** Messages that could not be delivered, and why. */
export const failedMessagesSchema = s.strictObject({
  messages: s.readonly(s.array(s.strictObject({ request: agentMessageSchema, error: s.string() }))),
});
export type FailedMessages = s.output<typeof failedMessagesSchema>;
