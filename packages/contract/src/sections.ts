import * as s from "./schema/all.ts";

// What requests and agents may ask of the runtime's own plugins, and values of state that any run may have.

export const CONTEXT_TARGETS = ["system", "session", "conversation", "suffix-system"] as const;

export const outputRetriesSchema = s.object({ count: s.int() });
export const pendingWorkSchema = s.object({ hasPending: s.boolean() });

export const reasoningEffortSchema = s.union([
  s.enum(["none", "low", "medium", "high", "max"]),
  s.strictObject({
    /** At most this many tokens of thought. */
    budget: s.int().check(s.positive()),
  }),
]);

/** Unknown fields are refused: a misspelt parameter must not be ignored. */
export const inferenceOverrideSchema = s.strictObject({
  /** Another model of the same provider, by the vendor's name. */
  upstreamModel: s.exactOptional(s.string().check(s.notBlank("must not be blank"))),
  /** As the vendor takes it; left out, the vendor's default. */
  temperature: s.exactOptional(s.number()),
  /** The longest answer, in tokens. */
  maxTokens: s.exactOptional(s.int().check(s.positive())),
  /** As the vendor takes it; left out, the vendor's default. */
  topP: s.exactOptional(s.number()),
  /** How long the model may think, in words or in tokens. */
  reasoningEffort: s.exactOptional(reasoningEffortSchema),
});
export const inferenceOverrideStateSchema = s.object({ overrides: s.exactOptional(inferenceOverrideSchema) });

// Sections of the runtime's own plugins.

const limit = s.int().check(s.positive());

export const contextTransformSectionSchema = s.strictObject({
  /** Texts of tool results from `thresholdTokens` on are shown to the model as a preview. */
  artifactCompaction: s.withDefault(
    s.strictObject({
      thresholdTokens: s.withDefault(limit, 2048),
      previewChars: s.withDefault(limit, 1600),
      previewLines: s.withDefault(limit, 24),
    }),
    {},
  ),
});
export type ArtifactLimits = s.output<typeof contextTransformSectionSchema>["artifactCompaction"];

export const compactionSectionSchema = s.strictObject({
  mode: s.withDefault(s.enum(["on", "off"]), "on"),
  summarizerSystemPrompt: s.exactOptional(s.string()),
  /** `{messages}` and `{previous_summary}` are filled in. */
  summarizerUserPrompt: s.exactOptional(s.string().check(s.refine((text) => text.includes("{messages}"), "must contain {messages}"))),
  summaryMaxTokens: s.withDefault(limit, 1024),
  /** Default: the agent's own model. */
  summaryModel: s.exactOptional(s.string().check(s.notBlank("must not be blank"))),
  /** A summary that saves less of what it replaces is thrown away. */
  minSavingsRatio: s.withDefault(s.number().check(s.atLeast(0), s.atMost(1)), 0.3),
  /** Summaries are added to the log; what they stand for stays there. */
  rawRetention: s.withDefault(s.literal("preserve-durable"), "preserve-durable"),
});
export type CompactionSection = s.output<typeof compactionSectionSchema>;

export const knowledgeCutoffSectionSchema = s.strictObject({ enabled: s.withDefault(s.boolean(), true) });

export const activeAgentSchema = s.nullable(s.string());

const count = (fallback: number) => s.withDefault(s.int().check(s.atLeast(0)), fallback);

/** How stubborn an inference is. Durations of 0 switch a wait off. */
export const retrySectionSchema = s.strictObject({
  maxRetries: count(2),
  backoffBaseMs: count(500),
  overloadedBackoffBaseMs: count(2000),
  maxStreamRetries: count(2),
  streamIdleTimeoutSecs: count(60),
  openTimeoutSecs: count(120),
  maxRetryAfterSecs: count(60),
});
