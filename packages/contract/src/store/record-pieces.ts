import { ADAPTERS, ORIGINS, RUN_MODES, type RunPlace } from "../identity.ts";
import * as s from "../schema/all.ts";
import type { Schema } from "../schema.ts";
import { type PersistedState, STATE_SCHEMA_VERSION } from "../state.ts";
import {
  jsonObjectSchema,
  jsonValueSchema,
  resumeModeSchema,
  runIdSchema,
  threadIdSchema,
  ticketIdSchema,
  toolCallIdSchema,
} from "../stored.ts";
import type { Ticket } from "../suspension.ts";
import type { ToolCall, ToolDescriptor } from "../tool.ts";
import type { ModelUsage, Usage } from "../usage.ts";
import { countSchema, nonBlankSchema, positionSchema, timeSchema } from "./row-schemas.ts";

// Pieces of what is not needed before something is stored, read or followed: runs, tickets, events, the queue. Those of messages are in `schemas.ts`.

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
