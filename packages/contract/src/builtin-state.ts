import * as s from "./schema/all.ts";
import { CONTEXT_TARGETS } from "./sections.ts";
import { decisionIdSchema, idOf, ticketIdSchema, toolCallIdSchema } from "./stored.ts";

// Stored values of the runtime's own state keys, which most runs have none of, and payloads of its actions.

const someText = s.string().check(s.refine((text) => text !== "", "must not be empty"));

/** What stop conditions are judged by. It continues over a durable resume of the same run. */
export const stopStatsSchema = s.object({
  stepCount: s.number(),
  totalInputTokens: s.number(),
  totalOutputTokens: s.number(),
  startTimeMs: s.number(),
  consecutiveErrors: s.number(),
  recentTexts: s.readonly(s.array(s.string())),
  /** What was called in the latest steps, as short marks; empty for a step without calls. */
  recentCalls: s.exactOptional(s.readonly(s.array(s.string()))),
});
export type StopStats = s.output<typeof stopStatsSchema>;

/** A message that a plugin puts into the prompt and not into the thread. */
export const contextMessageSchema = s.object({
  /** Names the message: another one with this key takes its place. */
  key: someText,
  /** Who seems to have said it; a system target takes it as instructions. */
  role: s.enum(["system", "user", "assistant"]),
  /** What the model reads. */
  content: s.string(),
  /** Where in the prompt it stands: around the instructions, before or in the conversation, or after it. */
  target: s.enum(CONTEXT_TARGETS),
  /** Steps for which an unchanged message is not repeated; 0 repeats it always. */
  cooldownSteps: s.withDefault(s.int().check(s.atLeast(0)), 0),
  /** Stays for every following step until it is replaced. */
  persistent: s.withDefault(s.boolean(), false),
  /** Gone after the first request that had it. Default false. */
  consumeAfterEmit: s.withDefault(s.boolean(), false),
  /** Lower comes first. */
  priority: s.withDefault(s.number(), 0),
});
export type ContextMessage = s.output<typeof contextMessageSchema>;

export const contextMessagesSchema = s.object({ messages: s.record(contextMessageSchema) });
export const contextThrottleSchema = s.object({
  entries: s.record(s.object({ lastStep: s.number(), contentHash: s.string() })),
});
export const toolFilterSchema = s.object({
  excluded: s.readonly(s.array(s.string())),
  includeOnly: s.readonly(s.array(s.readonly(s.array(s.string())))),
});

/** Payloads of the actions that filter the tools of one step. */
/** One id or several. */
export const excludeToolSchema = s.union([someText, s.readonly(s.array(someText))]);
export const includeOnlyToolsSchema = s.readonly(s.array(someText));

/** A ticket that was decided. `digest` is of what the decision said: a repeated one does nothing, another one under its id is refused. */
export const decidedTicketSchema = s.strictObject({
  ticketId: ticketIdSchema,
  decisionId: decisionIdSchema,
  toolCallId: s.exactOptional(toolCallIdSchema),
  digest: s.exactOptional(s.string()),
});
export type DecidedTicket = s.output<typeof decidedTicketSchema>;

/** A ticket that was closed without a decision: by this message, or because its run ended. */
export const closedTicketSchema = s.strictObject({
  ticketId: ticketIdSchema,
  toolCallId: toolCallIdSchema,
  closedBy: s.exactOptional(idOf("message")),
});
export type ClosedTicket = s.output<typeof closedTicketSchema>;

/** What became of the tickets of a run that are not open any more. */
export const decidedSchema = s.object({
  entries: s.readonly(s.array(decidedTicketSchema)),
  closed: s.exactOptional(s.readonly(s.array(closedTicketSchema))),
});
export type Decided = s.output<typeof decidedSchema>;

const ended = { upTo: s.string(), at: s.number() };

/** What became of the background compactions of a run. `upTo` is the last message that one stands for; lists keep their newest entries. */
export const compactionStateSchema = s.object({
  boundaries: s.readonly(s.array(s.object({ ...ended, summaryId: s.string(), tokensBefore: s.number(), tokensAfter: s.number() }))),
  failures: s.readonly(s.array(s.object({ ...ended, error: s.string() }))),
  skipped: s.readonly(s.array(s.object({ ...ended, reason: s.literal("min-savings-ratio") }))),
  totalCompactions: s.int().check(s.atLeast(0)),
  inFlight: s.exactOptional(s.object({ taskId: s.string(), upTo: s.string(), startedAt: s.number() })),
});
export type CompactionState = s.output<typeof compactionStateSchema>;

/** What a compaction captured when it was triggered. */
export const compactionOrderSchema = s.object({
  taskId: s.string(),
  upTo: s.string(),
  tokens: s.number(),
  transcript: s.string(),
  previousSummary: s.string(),
});
export type CompactionOrder = s.output<typeof compactionOrderSchema>;
