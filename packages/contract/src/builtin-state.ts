import * as z from "zod";
import { decisionIdSchema, ticketIdSchema } from "./stored.ts";

// Stored values of the runtime's own state keys.

/** What stop conditions are judged by. It continues over a durable resume of the same run. */
export const stopStatsSchema = z.object({
  stepCount: z.number(),
  totalInputTokens: z.number(),
  totalOutputTokens: z.number(),
  startTimeMs: z.number(),
  consecutiveErrors: z.number(),
  recentTexts: z.array(z.string()).readonly(),
});
export type StopStats = z.output<typeof stopStatsSchema>;

export const CONTEXT_TARGETS = ["system", "session", "conversation", "suffix-system"] as const;

/** A message that a plugin puts into the prompt and not into the thread. */
export const contextMessageSchema = z.object({
  key: z.string().min(1),
  role: z.enum(["system", "user", "assistant"]),
  content: z.string(),
  target: z.enum(CONTEXT_TARGETS),
  /** Steps for which an unchanged message is not repeated; 0 repeats it always. */
  cooldownSteps: z.number().int().nonnegative().default(0),
  /** Stays for every following step until it is replaced. */
  persistent: z.boolean().default(false),
  consumeAfterEmit: z.boolean().default(false),
  /** Lower comes first. */
  priority: z.number().default(0),
});
export type ContextMessage = z.output<typeof contextMessageSchema>;
export type ContextMessageInput = z.input<typeof contextMessageSchema>;

export const contextMessagesSchema = z.object({ messages: z.record(z.string(), contextMessageSchema) });
export const contextThrottleSchema = z.object({
  entries: z.record(z.string(), z.object({ lastStep: z.number(), contentHash: z.string() })),
});
export const toolFilterSchema = z.object({
  excluded: z.array(z.string()).readonly(),
  includeOnly: z.array(z.array(z.string()).readonly()).readonly(),
});
export const pendingWorkSchema = z.object({ hasPending: z.boolean() });

export const reasoningEffortSchema = z.union([
  z.enum(["none", "low", "medium", "high", "max"]),
  z.strictObject({ budget: z.number().int().positive() }),
]);

/** Unknown fields are refused: a misspelt parameter must not be ignored. */
export const inferenceOverrideSchema = z.strictObject({
  upstreamModel: z.string().regex(/\S/, "must not be blank").exactOptional(),
  temperature: z.number().exactOptional(),
  maxTokens: z.number().int().positive().exactOptional(),
  topP: z.number().exactOptional(),
  reasoningEffort: reasoningEffortSchema.exactOptional(),
});
export const inferenceOverrideStateSchema = z.object({ overrides: inferenceOverrideSchema.exactOptional() });

/** Payloads of the actions that filter the tools of one step. */
export const excludeToolSchema = z.string().min(1);
export const includeOnlyToolsSchema = z.array(z.string().min(1)).readonly();

/** Decisions that a run has taken, so that a repeated one does nothing. */
export const decidedSchema = z.object({
  entries: z.array(z.object({ ticketId: ticketIdSchema, decisionId: decisionIdSchema })).readonly(),
});
export type Decided = z.output<typeof decidedSchema>;

const ended = { upTo: z.string(), at: z.number() };

/** What became of the background compactions of a run. `upTo` is the last message that one stands for; lists keep their newest entries. */
export const compactionStateSchema = z.object({
  boundaries: z.array(z.object({ ...ended, summaryId: z.string(), tokensBefore: z.number(), tokensAfter: z.number() })).readonly(),
  failures: z.array(z.object({ ...ended, error: z.string() })).readonly(),
  skipped: z.array(z.object({ ...ended, reason: z.literal("min-savings-ratio") })).readonly(),
  totalCompactions: z.number().int().nonnegative(),
  inFlight: z.object({ taskId: z.string(), upTo: z.string(), startedAt: z.number() }).exactOptional(),
});
export type CompactionState = z.output<typeof compactionStateSchema>;

/** What a compaction captured when it was triggered. */
export const compactionOrderSchema = z.object({
  taskId: z.string(),
  upTo: z.string(),
  tokens: z.number(),
  transcript: z.string(),
  previousSummary: z.string(),
});
export type CompactionOrder = z.output<typeof compactionOrderSchema>;

// Sections of the runtime's own plugins.

const limit = z.number().int().positive();

export const contextTransformSectionSchema = z.strictObject({
  /** Texts of tool results from `thresholdTokens` on are shown to the model as a preview. */
  artifactCompaction: z
    .strictObject({ thresholdTokens: limit.default(2048), previewChars: limit.default(1600), previewLines: limit.default(24) })
    .prefault({}),
});
export type ArtifactLimits = z.output<typeof contextTransformSectionSchema>["artifactCompaction"];

export const compactionSectionSchema = z.strictObject({
  mode: z.enum(["on", "off"]).default("on"),
  summarizerSystemPrompt: z.string().exactOptional(),
  /** `{messages}` and `{previous_summary}` are filled in. */
  summarizerUserPrompt: z.string().includes("{messages}", "must contain {messages}").exactOptional(),
  summaryMaxTokens: limit.default(1024),
  /** Default: the agent's own model. */
  summaryModel: z.string().regex(/\S/, "must not be blank").exactOptional(),
  /** A summary that saves less of what it replaces is thrown away. */
  minSavingsRatio: z.number().min(0).max(1).default(0.3),
  /** Summaries are added to the log; what they stand for stays there. */
  rawRetention: z.literal("preserve-durable").default("preserve-durable"),
});
export type CompactionSection = z.output<typeof compactionSectionSchema>;

export const knowledgeCutoffSectionSchema = z.strictObject({ enabled: z.boolean().default(true) });

export const activeAgentSchema = z.string().nullable();
