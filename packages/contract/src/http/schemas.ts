import type { Message } from "../message.ts";
import * as s from "../schema/all.ts";
import { inferenceOverrideSchema } from "../sections.ts";
import { userContentListSchema } from "../store/content-schema.ts";
import { finalTerminationSchema } from "../store/final-termination.ts";
import { messageSchema } from "../store/message-schema.ts";
import { BOUNDARIES } from "../store/pending.ts";
import { modelUsageSchema, ticketSchema, toolDescriptorSchema, usageSchema } from "../store/record-pieces.ts";
import { countSchema, messageIdSchema, nonBlankSchema, positionSchema, timeSchema } from "../store/row-schemas.ts";
import { agentUsageSchema } from "../store/run-schema.ts";
import { CHILD_STRATEGIES } from "../store/threads.ts";
import {
  jsonObjectSchema,
  jsonValueSchema,
  runIdSchema,
  runStatusSchema,
  threadIdSchema,
  ticketIdSchema,
  waitingReasonSchema,
} from "../stored.ts";
import type { Ticket } from "../suspension.ts";
import { terminationSchema } from "../termination-schema.ts";

// What travels over HTTP: views of the records, without what only stores and workers need.

export const errorBodySchema = s.named("Error", s.strictObject({ error: s.string(), code: s.string() }));

export const threadViewSchema = s.named(
  "Thread",
  s.strictObject({
    id: threadIdSchema,
    resourceId: s.exactOptional(nonBlankSchema),
    parentThreadId: s.exactOptional(threadIdSchema),
    metadata: s.strictObject({
      createdAt: timeSchema,
      updatedAt: timeSchema,
      title: s.exactOptional(s.string()),
      custom: jsonObjectSchema,
    }),
    activeRunId: s.exactOptional(runIdSchema),
    openRunId: s.exactOptional(runIdSchema),
    latestRunId: s.exactOptional(runIdSchema),
  }),
);

export const threadSummarySchema = s.named(
  "ThreadSummary",
  s.strictObject({
    id: threadIdSchema,
    resourceId: s.exactOptional(nonBlankSchema),
    parentThreadId: s.exactOptional(threadIdSchema),
    title: s.exactOptional(s.string()),
    updatedAt: timeSchema,
    agentId: s.exactOptional(nonBlankSchema),
  }),
);

const namedTicketSchema: s.Type<Ticket, unknown> = s.named("Ticket", ticketSchema);
const namedUsageSchema = s.named("Usage", usageSchema);
const namedMessageSchema: s.Type<Message, unknown> = s.named("Message", messageSchema);

const runFacts = {
  runId: runIdSchema,
  threadId: threadIdSchema,
  agentId: nonBlankSchema,
  parentRunId: s.exactOptional(runIdSchema),
  rootRunId: s.exactOptional(runIdSchema),
  createdAt: timeSchema,
  updatedAt: timeSchema,
  steps: countSchema,
  usage: namedUsageSchema,
  usageByModel: s.exactOptional(s.array(modelUsageSchema)),
};

/** A run as it stands. */
export const runViewSchema = s.named(
  "Run",
  s.taggedUnion("status", [
    s.strictObject({ ...runFacts, status: s.literal("created") }),
    s.strictObject({ ...runFacts, status: s.literal("running"), startedAt: timeSchema, tickets: s.array(namedTicketSchema) }),
    s.strictObject({
      ...runFacts,
      status: s.literal("waiting"),
      startedAt: timeSchema,
      waitingReason: waitingReasonSchema,
      tickets: s.array(namedTicketSchema),
    }),
    s.strictObject({
      ...runFacts,
      status: s.literal("done"),
      startedAt: s.exactOptional(timeSchema),
      finishedAt: timeSchema,
      termination: finalTerminationSchema,
      response: s.string(),
      output: s.exactOptional(jsonValueSchema),
    }),
  ]),
);

const ended = {
  /** The run, for `wait`, `cancel` and the records. */
  runId: runIdSchema,
  /** The thread, for the next request. */
  threadId: threadIdSchema,
  /** The last answer of the model; empty when it said nothing. */
  text: s.string(),
  /** How many inferences it took, with their tool calls. */
  steps: countSchema,
  /** Tokens of the whole run. */
  usage: namedUsageSchema,
  /** What that is the sum of, by agent and place: the run itself first. */
  usageByAgent: s.array(agentUsageSchema),
  /** Why it ended, in one word and what belongs to it. */
  termination: terminationSchema,
};

/** How a run ended or where it waits: what `run` and `wait` of a runtime give. */
export const runResultSchema = s.named(
  "RunResult",
  s.taggedUnion("status", [
    s.strictObject({ ...ended, status: s.literal("done"), output: s.exactOptional(jsonValueSchema) }),
    s.strictObject({ ...ended, status: s.literal("waiting"), waitingReason: waitingReasonSchema, tickets: s.array(namedTicketSchema) }),
    s.strictObject({ ...ended, status: s.literal("stopped"), limit: s.string(), detail: s.string() }),
    s.strictObject({ ...ended, status: s.literal("cancelled") }),
    s.strictObject({ ...ended, status: s.literal("blocked"), reason: s.string() }),
    s.strictObject({ ...ended, status: s.literal("failed"), error: s.strictObject({ code: s.string(), message: s.string() }) }),
  ]),
);

export const messageRowSchema = s.named(
  "MessageRow",
  s.strictObject({ seq: positionSchema, createdAt: timeSchema, message: namedMessageSchema }),
);

const deliverySchema = {
  boundary: s.enum(BOUNDARIES),
  granularity: s.enum(["one", "batch"]),
  barrier: s.boolean(),
  fallbackToNewRun: s.boolean(),
};

export const pendingSchema = s.named(
  "PendingMessage",
  s.strictObject({
    pendingId: messageIdSchema,
    position: positionSchema,
    revision: positionSchema,
    message: namedMessageSchema,
    deliveryMode: s.strictObject({ ...deliverySchema, targetRunId: s.exactOptional(runIdSchema) }),
    createdAt: timeSchema,
    updatedAt: timeSchema,
  }),
);

export const eventRowSchema = s.named(
  "LoggedEvent",
  s.strictObject({
    eventId: nonBlankSchema,
    cursor: nonBlankSchema,
    kind: nonBlankSchema,
    threadId: s.exactOptional(threadIdSchema),
    runId: s.exactOptional(runIdSchema),
    createdAt: timeSchema,
    visibility: s.enum(["public", "internal", "audit", "sensitive"]),
    payload: jsonObjectSchema,
  }),
);

const spoken = { role: s.enum(["user", "assistant", "system"]), content: s.union([s.string(), userContentListSchema]) };

export const deadLetterSchema = s.named(
  "DeadLetter",
  s.strictObject({
    id: nonBlankSchema,
    runId: runIdSchema,
    threadId: threadIdSchema,
    error: s.string(),
    attempts: countSchema,
    createdAt: timeSchema,
    diedAt: timeSchema,
  }),
);

/** A message as a caller writes it. */
export const messageInputSchema = s.named("MessageInput", s.strictObject({ ...spoken, id: s.exactOptional(nonBlankSchema) }));

const asked = {
  agentId: s.exactOptional(nonBlankSchema),
  messages: s.array(messageInputSchema),
};

/** What may be said about a run, however it is started. */
export const runBody = {
  ...asked,
  threadId: s.exactOptional(nonBlankSchema),
  /** Temperature, length and the like, for this run alone. */
  overrides: s.exactOptional(inferenceOverrideSchema),
  /** Tools that the client runs. */
  frontendTools: s.exactOptional(s.array(toolDescriptorSchema)),
  /** JSON Schema of the answer. */
  output: s.exactOptional(jsonObjectSchema),
  /** How often an answer that does not fit is asked for again. Default 2. */
  outputRetries: s.exactOptional(countSchema),
  /** Where a run is at work on the thread: refuse this one, queue it behind, or interrupt what is at work. Default `refuse`; of a start `queue`. */
  onBusy: s.exactOptional(s.enum(["refuse", "queue", "interrupt"])),
};

export const runRequestSchema = s.named("RunRequest", s.strictObject(runBody));
export const startRequestSchema = s.named(
  "StartRequest",
  s.strictObject({
    ...runBody,
    /** Up to 255; the lowest goes first. */
    priority: s.exactOptional(s.int().check(s.atLeast(0), s.atMost(255))),
    /** While one with the same key is queued, another is not added. */
    dedupeKey: s.exactOptional(nonBlankSchema),
  }),
);
export const startedSchema = s.strictObject({ runId: runIdSchema, threadId: threadIdSchema });

export const SEND_MODES = ["queue", "steer", "interrupt"] as const;
export const sendSchema = s.strictObject({
  messages: asked.messages,
  /** `steer` is for the run that is at work, `interrupt` ends it first. Default `queue`. */
  mode: s.exactOptional(s.enum(SEND_MODES)),
});
export const sentSchema = s.strictObject({
  status: s.enum(["steered", "queued", "behind-tickets"]),
  threadId: threadIdSchema,
  runId: s.exactOptional(runIdSchema),
  messageIds: s.array(messageIdSchema),
});

const decided = {
  /** Makes it idempotent: the same id twice decides once. */
  id: s.exactOptional(nonBlankSchema),
  /** Who decides; kept on record. */
  by: s.exactOptional(s.string()),
  /** For plugins, kept with the decision. */
  metadata: s.exactOptional(jsonObjectSchema),
};
const approve = {
  ...decided,
  action: s.literal("approve"),
  /** Runs the call with this instead of what the model wrote. */
  input: s.exactOptional(jsonValueSchema),
};
const deny = {
  ...decided,
  action: s.literal("deny"),
  /** The model reads it. */
  reason: s.exactOptional(s.string()),
};
const answer = {
  ...decided,
  action: s.literal("answer"),
  /** Becomes the result of the call without running the tool, or is handed to it, as the resume mode says. */
  result: jsonValueSchema,
};

/** About the ticket that the path names. */
export const decisionSchema = s.named(
  "Decision",
  s.taggedUnion("action", [s.strictObject(approve), s.strictObject(deny), s.strictObject(answer)]),
);

/** About a ticket, or a call, of the run or thread that the path names. */
const target = { target: nonBlankSchema };
export const targetedDecisionSchema = s.named(
  "TargetedDecision",
  s.taggedUnion("action", [
    s.strictObject({ ...target, ...approve }),
    s.strictObject({ ...target, ...deny }),
    s.strictObject({ ...target, ...answer }),
  ]),
);
export const decidedSchema = s.strictObject({
  status: s.literal("decision-submitted"),
  runId: runIdSchema,
  threadId: threadIdSchema,
  target: ticketIdSchema,
});

export const newThreadSchema = s.strictObject({
  id: s.exactOptional(nonBlankSchema),
  title: s.exactOptional(s.string()),
  resourceId: s.exactOptional(s.string()),
  parentThreadId: s.exactOptional(s.string()),
  custom: s.exactOptional(jsonObjectSchema),
});
/** An absent field is kept, null clears it. */
export const threadPatchSchema = s.strictObject({
  title: s.exactOptional(s.nullable(s.string())),
  resourceId: s.exactOptional(s.nullable(s.string())),
  parentThreadId: s.exactOptional(s.nullable(s.string())),
  custom: s.exactOptional(jsonObjectSchema),
});

export const pendingEditSchema = s.strictObject({
  message: s.exactOptional(s.strictObject(spoken)),
  deliveryMode: s.exactOptional(s.partialObject(deliverySchema)),
});

const limit = s.exactOptional(s.fromText(s.int()));
const cursor = s.exactOptional(s.string());
const seq = s.exactOptional(s.fromText(countSchema));
const flag = s.exactOptional(s.fromText(s.boolean()));
export const paging = { limit, cursor };

export const threadQuerySchema = s.strictObject({
  ...paging,
  resourceId: s.exactOptional(nonBlankSchema),
  parentThreadId: s.exactOptional(nonBlankSchema),
  root: flag,
});
export const messageQuerySchema = s.strictObject({
  ...paging,
  /** Positions in the log; both ends are exclusive. */
  after: seq,
  before: seq,
  order: s.exactOptional(s.enum(["ascending", "descending"])),
  visibility: s.exactOptional(s.enum(["external", "internal", "all"])),
  runId: s.exactOptional(nonBlankSchema),
});
export const runQuerySchema = s.strictObject({ ...paging, status: s.exactOptional(runStatusSchema) });
export const pagingQuerySchema = s.strictObject(paging);
export const streamQuerySchema = s.strictObject({
  cursor,
  /** `now` leaves out what is on record already. Default `start`. */
  from: s.exactOptional(s.enum(["start", "now"])),
});
export const waitQuerySchema = s.strictObject({ timeoutMs: s.exactOptional(s.fromText(s.int().check(s.atLeast(0), s.atMost(30_000)))) });
export const deleteQuerySchema = s.strictObject({ childStrategy: s.exactOptional(s.enum(CHILD_STRATEGIES)) });

export const pageOf = <T>(item: s.Type<T, unknown>) =>
  s.strictObject({
    items: s.array(item),
    total: s.exactOptional(countSchema),
    hasMore: s.boolean(),
    nextCursor: s.exactOptional(s.string()),
  });
