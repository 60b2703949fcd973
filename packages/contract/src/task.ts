import * as s from "./schema/all.ts";
import { jsonValueSchema } from "./stored.ts";

// News of work in the background of a thread, as they are stored.

export const taskId = s.string().check(s.notBlank("must not be blank"));

/** News of background work. Becomes an internal user message at the next boundary. */
export const taskEventSchema = s.taggedUnion("kind", [
  s.strictObject({
    kind: s.literal("completed"),
    /** Names the work in the background. */
    taskId,
    /** What it came to. */
    result: jsonValueSchema,
  }),
  s.strictObject({
    kind: s.literal("failed"),
    /** Names the work in the background. */
    taskId,
    /** Why it failed, for the model. */
    error: s.string(),
  }),
  s.strictObject({
    kind: s.literal("cancelled"),
    /** Names the work in the background. */
    taskId,
  }),
  s.strictObject({
    kind: s.literal("custom"),
    /** Names the work in the background. */
    taskId,
    /** What kind of news, as whoever tells it names it. */
    eventType: s.string(),
    /** The news. */
    payload: jsonValueSchema,
  }),
]);
export type TaskEvent = s.output<typeof taskEventSchema>;
