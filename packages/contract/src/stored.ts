import * as s from "./schema/all.ts";
import { RUN_STATUSES, WAITING_REASONS } from "./statuses.ts";
import { idOf, jsonObjectSchema, jsonValueSchema } from "./stored-values.ts";

// The pieces that several stored records are made of.

export { idOf, jsonObjectSchema, jsonValueSchema, resumeModeSchema, runIdSchema, toolCallIdSchema } from "./stored-values.ts";

export const threadIdSchema = idOf("thread");
export const ticketIdSchema = idOf("ticket");
export const decisionIdSchema = idOf("decision");

export const runStatusSchema = s.enum(RUN_STATUSES);
export const waitingReasonSchema = s.enum(WAITING_REASONS);

const decided = {
  id: decisionIdSchema,
  by: s.exactOptional(s.string()),
  metadata: s.exactOptional(jsonObjectSchema),
  decidedAt: s.number(),
};
export const decisionSchema = s.taggedUnion("action", [
  s.object({ ...decided, action: s.literal("approve"), input: s.exactOptional(jsonValueSchema) }),
  s.object({ ...decided, action: s.literal("deny"), reason: s.exactOptional(s.string()) }),
  s.object({ ...decided, action: s.literal("answer"), result: jsonValueSchema }),
]);
