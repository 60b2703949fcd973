import { type AgentEvent, type AgentEventType, INPUT_MODES, type LiveEventType, type RunOutcome } from "./event.ts";
import type { RunIdentity } from "./identity.ts";
import { STOP_REASONS } from "./inference.ts";
import * as s from "./schema/all.ts";
import type { Fits } from "./schema/type.ts";
import { type Schema, validateSync } from "./schema.ts";
import { messageSchema } from "./store/message-schema.ts";
import {
  adapterSchema,
  modelUsageSchema,
  originSchema,
  persistedStateSchema,
  runModeSchema,
  runPlaceSchema,
  ticketSchema,
  usageSchema,
} from "./store/record-pieces.ts";
import { countSchema, dispatchIdSchema, messageIdSchema, nonBlankSchema, positionSchema, timeSchema } from "./store/row-schemas.ts";
import { mediaListSchema, toolResultSchema } from "./store/tool-result-schema.ts";
import {
  jsonObjectSchema,
  jsonValueSchema,
  runIdSchema,
  threadIdSchema,
  ticketIdSchema,
  toolCallIdSchema,
  waitingReasonSchema,
} from "./stored.ts";
import { terminationSchema } from "./termination-schema.ts";
import { TOOL_OUTCOMES } from "./tool.ts";

/**
 * Where in a run an event may come. `run` and `step` open and close. Inside a step the order is `stream`, `ready`, `inference-end`,
 * `round`, `snapshot`, and none goes back. `between` is outside of steps, `anywhere` is as it says, and `outside` is
 * where no run is at work. A ticket of another run may come anywhere.
 */
export const EVENT_STAGES = [
  "run",
  "step",
  "stream",
  "ready",
  "inference-end",
  "round",
  "snapshot",
  "between",
  "anywhere",
  "outside",
] as const;
export type EventStage = (typeof EVENT_STAGES)[number];

type EventOf<T extends AgentEventType> = Extract<AgentEvent, { type: T }>;

export interface EventRow<T extends AgentEventType> {
  readonly schema: Schema<EventOf<T>> & { readonly fits: Fits };
  /** Whether the log of the thread keeps it as a fact. What it leaves out only a live listener needs. */
  readonly isStored: T extends LiveEventType ? false : true;
  readonly stage: EventStage;
}

const identitySchema = s.strictObject({
  threadId: threadIdSchema,
  runId: runIdSchema,
  agentId: nonBlankSchema,
  origin: originSchema,
  runMode: runModeSchema,
  adapter: adapterSchema,
  parentThreadId: s.exactOptional(threadIdSchema),
  parentRunId: s.exactOptional(runIdSchema),
  rootRunId: s.exactOptional(runIdSchema),
  agentPath: s.exactOptional(s.array(s.string())),
  ancestors: s.exactOptional(s.array(runPlaceSchema)),
  parentToolCallId: s.exactOptional(toolCallIdSchema),
  taskId: s.exactOptional(s.string()),
  dispatchId: s.exactOptional(dispatchIdSchema),
  sessionId: s.exactOptional(s.string()),
  transportRequestId: s.exactOptional(s.string()),
  correlationId: s.exactOptional(s.string()),
  traceParent: s.exactOptional(s.string()),
}) satisfies Schema<RunIdentity>;

const said = { response: s.string(), output: s.exactOptional(jsonValueSchema) };

const runOutcomeSchema = s.taggedUnion("status", [
  s.strictObject({ ...said, status: s.literal("done") }),
  s.strictObject({
    ...said,
    status: s.literal("waiting"),

    waitingReason: waitingReasonSchema,
  }),
  s.strictObject({ ...said, status: s.literal("stopped"), limit: s.string(), detail: s.string() }),
  s.strictObject({ ...said, status: s.literal("cancelled") }),
  s.strictObject({ ...said, status: s.literal("blocked"), reason: s.string() }),
  s.strictObject({
    ...said,
    status: s.literal("failed"),
    error: s.strictObject({ code: s.string(), message: s.string() }),
  }),
]) satisfies Schema<RunOutcome>;

const deltaOf = <const T extends AgentEventType>(type: T) => s.strictObject({ type: s.literal(type), delta: s.string() });
const call = { toolCallId: toolCallIdSchema, toolName: s.string() };
const child = {
  runId: runIdSchema,
  threadId: threadIdSchema,
  agentId: nonBlankSchema,
  agentPath: s.array(s.string()),
  toolCallId: s.exactOptional(toolCallIdSchema),
};

const decision = {
  ...call,
  type: s.literal("decision-taken"),
  runId: runIdSchema,
  ticketId: ticketIdSchema,
  decidedAt: timeSchema,
  by: s.exactOptional(s.string()),
  metadata: s.exactOptional(jsonObjectSchema),
};

/** Every type of event: what it looks like, whether it is kept, and where it may come. A type without its row does not compile. */
export const EVENT_TABLE: { readonly [T in AgentEventType]: EventRow<T> } = {
  "run-start": {
    schema: s.strictObject({
      type: s.literal("run-start"),
      threadId: threadIdSchema,
      runId: runIdSchema,
      identity: identitySchema,
      answerId: messageIdSchema,
      resumed: s.boolean(),
    }),
    isStored: true,
    stage: "run",
  },
  "run-end": {
    schema: s.strictObject({
      type: s.literal("run-end"),
      threadId: threadIdSchema,
      runId: runIdSchema,
      termination: terminationSchema,
      tickets: s.array(ticketSchema),
      result: runOutcomeSchema,
      usage: usageSchema,
      usageByModel: s.array(modelUsageSchema),
    }),
    isStored: true,
    stage: "run",
  },
  "run-retry": {
    schema: s.strictObject({ type: s.literal("run-retry"), attempt: positionSchema, reason: s.string() }),
    isStored: true,
    stage: "between",
  },
  "input-accepted": {
    schema: s.strictObject({ type: s.literal("input-accepted"), messages: s.array(messageSchema), mode: s.enum(INPUT_MODES) }),
    isStored: true,
    stage: "anywhere",
  },
  "step-start": {
    schema: s.strictObject({ type: s.literal("step-start"), step: countSchema, messageId: messageIdSchema, agentId: nonBlankSchema }),
    isStored: false,
    stage: "step",
  },
  "step-end": { schema: s.strictObject({ type: s.literal("step-end"), step: countSchema }), isStored: false, stage: "step" },
  "text-delta": { schema: deltaOf("text-delta"), isStored: false, stage: "stream" },
  "reasoning-delta": { schema: deltaOf("reasoning-delta"), isStored: false, stage: "stream" },
  "reasoning-encrypted-value": {
    schema: s.strictObject({ type: s.literal("reasoning-encrypted-value"), encryptedValue: s.string() }),
    isStored: false,
    stage: "stream",
  },
  "tool-call-start": { schema: s.strictObject({ ...call, type: s.literal("tool-call-start") }), isStored: false, stage: "stream" },
  "tool-call-delta": {
    schema: s.strictObject({ type: s.literal("tool-call-delta"), toolCallId: toolCallIdSchema, delta: s.string() }),
    isStored: false,
    stage: "stream",
  },
  "tool-call-cancel": {
    schema: s.strictObject({ ...call, type: s.literal("tool-call-cancel"), reason: s.string() }),
    isStored: true,
    stage: "stream",
  },
  "stream-reset": {
    schema: s.strictObject({ type: s.literal("stream-reset"), reason: s.string() }),
    isStored: true,
    stage: "stream",
  },
  "inference-retry": {
    schema: s.strictObject({ type: s.literal("inference-retry"), attempt: positionSchema, delayMs: s.number(), reason: s.string() }),
    isStored: false,
    stage: "stream",
  },
  "tool-call-ready": {
    schema: s.strictObject({
      ...call,
      type: s.literal("tool-call-ready"),
      input: jsonValueSchema,
      runsAt: s.enum(["server", "client"]),
      dynamic: s.boolean(),
      kind: s.exactOptional(s.string()),
      invalid: s.exactOptional(s.string()),
    }),
    isStored: true,
    stage: "ready",
  },
  "inference-end": {
    schema: s.strictObject({
      type: s.literal("inference-end"),
      provider: s.string(),
      model: s.string(),
      usage: usageSchema,
      durationMs: s.number(),
      contextWindow: s.exactOptional(positionSchema),
      finishReason: s.enum([...STOP_REASONS, "error"]),
    }),
    isStored: true,
    stage: "inference-end",
  },
  "tool-call-run": {
    schema: s.strictObject({ type: s.literal("tool-call-run"), toolCallId: toolCallIdSchema }),
    isStored: false,
    stage: "round",
  },
  "tool-call-stream-delta": {
    schema: s.strictObject({ ...call, type: s.literal("tool-call-stream-delta"), delta: s.string() }),
    isStored: false,
    stage: "round",
  },
  "ticket-open": { schema: s.strictObject({ type: s.literal("ticket-open"), ticket: ticketSchema }), isStored: true, stage: "round" },
  "tool-call-end": {
    schema: s.strictObject({
      ...call,
      type: s.literal("tool-call-end"),
      messageId: messageIdSchema,
      outcome: s.enum(TOOL_OUTCOMES),
      result: toolResultSchema,
    }),
    isStored: true,
    stage: "round",
  },
  "tool-call-resumed": {
    schema: s.strictObject({
      ...call,
      type: s.literal("tool-call-resumed"),
      messageId: messageIdSchema,
      ticketId: s.exactOptional(ticketIdSchema),
      outcome: s.enum(["succeeded", "failed", "denied"]),
      result: jsonValueSchema,
      message: s.exactOptional(s.string()),
      media: s.exactOptional(mediaListSchema),
    }),
    isStored: true,
    stage: "between",
  },
  "decision-taken": {
    schema: s.taggedUnion("action", [
      s.strictObject({ ...decision, action: s.literal("approve"), input: s.exactOptional(jsonValueSchema) }),
      s.strictObject({ ...decision, action: s.literal("deny"), reason: s.exactOptional(s.string()) }),
      s.strictObject({ ...decision, action: s.literal("answer"), result: jsonValueSchema }),
    ]),
    isStored: true,
    stage: "anywhere",
  },
  "outcome-found": {
    schema: s.strictObject({
      ...call,
      type: s.literal("outcome-found"),
      idempotencyKey: nonBlankSchema,
      found: s.enum(["done", "not-done"]),
      foundAt: timeSchema,
      by: s.exactOptional(s.string()),
    }),
    isStored: true,
    stage: "anywhere",
  },
  "thread-rewound": {
    schema: s.strictObject({ type: s.literal("thread-rewound"), threadId: threadIdSchema, messageId: messageIdSchema }),
    isStored: true,
    stage: "outside",
  },
  "child-start": { schema: s.strictObject({ ...child, type: s.literal("child-start") }), isStored: true, stage: "anywhere" },
  "child-end": {
    schema: s.strictObject({ ...child, type: s.literal("child-end"), outcome: runOutcomeSchema, usage: usageSchema }),
    isStored: true,
    stage: "anywhere",
  },
  "state-snapshot": {
    schema: s.strictObject({ type: s.literal("state-snapshot"), snapshot: persistedStateSchema }),
    isStored: false,
    stage: "snapshot",
  },
  "activity-snapshot": {
    schema: s.strictObject({
      type: s.literal("activity-snapshot"),
      messageId: s.string(),
      activityType: s.string(),
      content: jsonValueSchema,
      replace: s.exactOptional(s.boolean()),
    }),
    isStored: false,
    stage: "anywhere",
  },
};

const isEvent = (value: object, fits: boolean): value is AgentEvent => fits;

/** An event that was kept or sent, or undefined for what is none of this type. What fits as it is is not made anew. */
export function readEventOf(type: AgentEventType, body: object): AgentEvent | undefined {
  const schema: Schema<AgentEvent> & { readonly fits: Fits } = EVENT_TABLE[type].schema;
  const event = { type, ...body };
  if (isEvent(event, schema.fits(event, 0))) return event;
  const checked = validateSync(schema, event);
  return checked.type === "valid" ? checked.value : undefined;
}
