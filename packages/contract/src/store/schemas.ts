import { ADAPTERS, ORIGINS, RUN_MODES, type RunPlace } from "../identity.ts";
import type { FinalTermination } from "../run.ts";
import * as s from "../schema/all.ts";
import type { Schema } from "../schema.ts";
import { type PersistedState, STATE_SCHEMA_VERSION } from "../state.ts";
import {
  idOf,
  jsonObjectSchema,
  jsonValueSchema,
  resumeModeSchema,
  runIdSchema,
  threadIdSchema,
  ticketIdSchema,
  toolCallIdSchema,
} from "../stored.ts";
import type { Suspension, Ticket } from "../suspension.ts";
import type { Termination } from "../termination.ts";
import { terminationSchema } from "../termination-table.ts";
import type { ToolCall, ToolDescriptor } from "../tool.ts";
import type { ModelUsage, Usage } from "../usage.ts";

// Pieces of the records in this folder. Objects are strict: an unknown field of the same version is a corrupt row.

export const messageIdSchema = idOf("message");
export const dispatchIdSchema = idOf("dispatch");
export const eventIdSchema = idOf("event");

export const nonBlankSchema = s.text("expected a non-blank string");
export const countSchema = s.int().check(s.atLeast(0));
export const positionSchema = s.int().check(s.positive());
/** Unix milliseconds. */
export const timeSchema = s.number().check(s.atLeast(0));

/** Rows of a log by seq: 1-based, inclusive, not empty. */
export const rangeSchema = s
  .strictObject({ fromSeq: positionSchema, toSeq: positionSchema })
  .check(s.refine((range) => range.fromSeq <= range.toSeq, "fromSeq must not be after toSeq"));

export const originSchema = s.enum(ORIGINS);
export const adapterSchema = s.enum(ADAPTERS);
export const runModeSchema = s.enum(RUN_MODES);
export const runPlaceSchema = s.strictObject({ runId: runIdSchema, threadId: threadIdSchema }) satisfies Schema<RunPlace>;

export const usageSchema = s.strictObject({
  inputTokens: countSchema,
  outputTokens: countSchema,
  totalTokens: countSchema,
  cacheReadTokens: s.exactOptional(countSchema),
  cacheWriteTokens: s.exactOptional(countSchema),
  reasoningTokens: s.exactOptional(countSchema),
}) satisfies Schema<Usage>;

export const modelUsageSchema = s.strictObject({
  provider: s.string(),
  model: s.string(),
  usage: usageSchema,
}) satisfies Schema<ModelUsage>;

export const persistedStateSchema = s.strictObject({
  schemaVersion: s.literal(STATE_SCHEMA_VERSION),
  revision: countSchema,
  extensions: jsonObjectSchema,
  versions: s.exactOptional(s.record(positionSchema)),
}) satisfies Schema<PersistedState>;

const isFinal = (termination: Termination): termination is FinalTermination => termination.type !== "suspended";
export const finalTerminationSchema = s.narrow(terminationSchema, isFinal, "what is done cannot be suspended");

export const suspensionSchema = s.strictObject({
  id: s.exactOptional(ticketIdSchema),
  action: s.string(),
  message: s.exactOptional(s.string()),
  parameters: s.exactOptional(jsonValueSchema),
  responseSchema: s.exactOptional(jsonObjectSchema),
  resumeMode: s.exactOptional(resumeModeSchema),
  canEdit: s.exactOptional(s.boolean()),
  expiresAt: s.exactOptional(timeSchema),
}) satisfies Schema<Suspension>;

export const ticketSchema = s.strictObject({
  id: ticketIdSchema,
  runId: runIdSchema,
  threadId: threadIdSchema,
  toolCallId: toolCallIdSchema,
  toolName: nonBlankSchema,
  input: jsonValueSchema,
  action: s.string(),
  resumeMode: resumeModeSchema,
  message: s.exactOptional(s.string()),
  parameters: s.exactOptional(jsonValueSchema),
  responseSchema: s.exactOptional(jsonObjectSchema),
  canEdit: s.exactOptional(s.boolean()),
  expiresAt: s.exactOptional(timeSchema),
  rootRunId: s.exactOptional(runIdSchema),
  agentPath: s.exactOptional(s.array(s.string())),
  updatedAt: timeSchema,
}) satisfies Schema<Ticket>;

export const toolCallSchema = s.strictObject({
  id: toolCallIdSchema,
  name: nonBlankSchema,
  input: jsonValueSchema,
}) satisfies Schema<ToolCall>;

export const toolDescriptorSchema = s.strictObject({
  id: nonBlankSchema,
  description: s.string(),
  parameters: jsonObjectSchema,
  category: s.exactOptional(s.string()),
  metadata: s.exactOptional(jsonObjectSchema),
}) satisfies Schema<ToolDescriptor>;
