import type { Id } from "./ids.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "./json.ts";
import * as s from "./schema/all.ts";
import { RESUME_MODES } from "./suspension.ts";
import { RUN_STATUSES, WAITING_REASONS } from "./termination.ts";

// The pieces that several stored records are made of. They read what a store gives back, so they trust that it is JSON.

/* @__NO_SIDE_EFFECTS__ */
export const idOf = <Kind extends string>(kind: Kind): s.Type<Id<Kind>, string> => s.text(`expected the id of a ${kind}, not blank`);

export const runIdSchema = idOf("run");
export const threadIdSchema = idOf("thread");
export const ticketIdSchema = idOf("ticket");
export const toolCallIdSchema = idOf("tool call");
export const decisionIdSchema = idOf("decision");

export const jsonValueSchema = s.custom<JsonValue>((value) => value !== undefined, "expected a JSON value");
export const jsonObjectSchema = s.custom<JsonObject>(isJsonObject, "expected a JSON object");

export const runStatusSchema = s.enum(RUN_STATUSES);
export const waitingReasonSchema = s.enum(WAITING_REASONS);
export const resumeModeSchema = s.enum(RESUME_MODES);

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
