import * as z from "zod";
import { ADAPTERS, ORIGINS, RUN_MODES } from "../identity.ts";
import { dispatchId, eventId, type Id, messageId } from "../ids.ts";
import type { FinalTermination } from "../run.ts";
import type { Schema } from "../schema.ts";
import { type PersistedState, STATE_SCHEMA_VERSION } from "../state.ts";
import {
  jsonObjectSchema,
  jsonValueSchema,
  resumeModeSchema,
  runIdSchema,
  terminationSchema,
  threadIdSchema,
  ticketIdSchema,
  toolCallIdSchema,
} from "../stored.ts";
import type { Suspension, Ticket } from "../suspension.ts";
import type { Termination } from "../termination.ts";
import type { ToolCall, ToolDescriptor } from "../tool.ts";
import type { Usage } from "../usage.ts";

// Pieces of the records in this folder. Objects are strict: an unknown field of the same version is a corrupt row.

const idOf = <Kind extends string>(make: (value: string) => Id<Kind>) => z.string().transform((value) => make(value));

export const messageIdSchema = idOf(messageId);
export const dispatchIdSchema = idOf(dispatchId);
export const eventIdSchema = idOf(eventId);

export const nonBlankSchema = z.string().refine((text) => text.trim() !== "", "expected a non-blank string");
export const countSchema = z.int().nonnegative();
export const positionSchema = z.int().positive();
/** Unix milliseconds. */
export const timeSchema = z.number().nonnegative();

/** Rows of a log by seq: 1-based, inclusive, not empty. */
export const rangeSchema = z
  .strictObject({ fromSeq: positionSchema, toSeq: positionSchema })
  .refine((range) => range.fromSeq <= range.toSeq, "fromSeq must not be after toSeq");

export const originSchema = z.enum(ORIGINS);
export const adapterSchema = z.enum(ADAPTERS);
export const runModeSchema = z.enum(RUN_MODES);

export const usageSchema = z.strictObject({
  inputTokens: countSchema,
  outputTokens: countSchema,
  totalTokens: countSchema,
  cacheReadTokens: countSchema.exactOptional(),
  cacheWriteTokens: countSchema.exactOptional(),
  reasoningTokens: countSchema.exactOptional(),
}) satisfies Schema<Usage>;

export const persistedStateSchema = z.strictObject({
  schemaVersion: z.literal(STATE_SCHEMA_VERSION),
  revision: countSchema,
  extensions: jsonObjectSchema,
  versions: z.record(z.string(), positionSchema).exactOptional(),
}) satisfies Schema<PersistedState>;

const isFinal = (termination: Termination): termination is FinalTermination => termination.type !== "suspended";
export const finalTerminationSchema = terminationSchema.refine(isFinal, "what is done cannot be suspended");

export const suspensionSchema = z.strictObject({
  id: ticketIdSchema.exactOptional(),
  action: z.string(),
  message: z.string().exactOptional(),
  parameters: jsonValueSchema.exactOptional(),
  responseSchema: jsonObjectSchema.exactOptional(),
  resumeMode: resumeModeSchema.exactOptional(),
}) satisfies Schema<Suspension>;

export const ticketSchema = z.strictObject({
  id: ticketIdSchema,
  runId: runIdSchema,
  threadId: threadIdSchema,
  toolCallId: toolCallIdSchema,
  toolName: nonBlankSchema,
  input: jsonValueSchema,
  action: z.string(),
  resumeMode: resumeModeSchema,
  message: z.string().exactOptional(),
  parameters: jsonValueSchema.exactOptional(),
  responseSchema: jsonObjectSchema.exactOptional(),
  agentPath: z.array(z.string()).exactOptional(),
  updatedAt: timeSchema,
}) satisfies Schema<Ticket>;

export const toolCallSchema = z.strictObject({
  id: toolCallIdSchema,
  name: nonBlankSchema,
  input: jsonValueSchema,
}) satisfies Schema<ToolCall>;

export const toolDescriptorSchema = z.strictObject({
  id: nonBlankSchema,
  description: z.string(),
  parameters: jsonObjectSchema,
  category: z.string().exactOptional(),
  metadata: jsonObjectSchema.exactOptional(),
}) satisfies Schema<ToolDescriptor>;
