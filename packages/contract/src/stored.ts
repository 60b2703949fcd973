import * as z from "zod";
import { decisionId, type Id, runId, threadId, ticketId, toolCallId } from "./ids.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "./json.ts";
import { RESUME_MODES } from "./suspension.ts";
import { RUN_STATUSES, WAITING_REASONS } from "./termination.ts";

// The pieces that several stored records are made of. They read what a store gives back, so they trust that it is JSON.

const idOf = <Kind extends string>(make: (value: string) => Id<Kind>) => z.string().transform((value) => make(value));

export const runIdSchema = idOf(runId);
export const threadIdSchema = idOf(threadId);
export const ticketIdSchema = idOf(ticketId);
export const toolCallIdSchema = idOf(toolCallId);
export const decisionIdSchema = idOf(decisionId);

export const jsonValueSchema = z.custom<JsonValue>((value) => value !== undefined, "expected a JSON value");
export const jsonObjectSchema = z.custom<JsonObject>(isJsonObject, "expected a JSON object");

export const runStatusSchema = z.enum(RUN_STATUSES);
export const waitingReasonSchema = z.enum(WAITING_REASONS);
export const resumeModeSchema = z.enum(RESUME_MODES);

export const terminationSchema = z.discriminatedUnion("type", [
  z.object({ type: z.literal("natural-end") }),
  z.object({ type: z.literal("behavior-requested") }),
  z.object({ type: z.literal("stopped"), code: z.string(), detail: z.string().exactOptional() }),
  z.object({ type: z.literal("cancelled") }),
  z.object({ type: z.literal("blocked"), reason: z.string() }),
  z.object({ type: z.literal("suspended") }),
  z.object({ type: z.literal("error"), message: z.string(), code: z.string().exactOptional() }),
]);

const decided = { id: decisionIdSchema, by: z.string().exactOptional(), decidedAt: z.number() };
export const decisionSchema = z.discriminatedUnion("action", [
  z.object({ ...decided, action: z.literal("approve"), input: jsonValueSchema.exactOptional() }),
  z.object({ ...decided, action: z.literal("deny"), reason: z.string().exactOptional() }),
  z.object({ ...decided, action: z.literal("answer"), result: jsonValueSchema }),
]);
