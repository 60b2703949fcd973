import type { Conclusion } from "./conclusion.ts";
import type { MediaContent } from "./content.ts";
import type { RunIdentity } from "./identity.ts";
import type { MessageId, RunId, ThreadId, TicketId, ToolCallId } from "./ids.ts";
import type { StopReason } from "./inference.ts";
import type { JsonObject, JsonValue } from "./json.ts";
import type { Message } from "./message.ts";
import type { PersistedState } from "./state.ts";
import type { DecisionAction, Ticket } from "./suspension.ts";
import type { Termination } from "./termination.ts";
import type { ToolOutcome, ToolResult } from "./tool.ts";
import type { ModelUsage, Usage } from "./usage.ts";

type Without<T, Key extends PropertyKey> = T extends unknown ? Omit<T, Key> : never;

/** What became of the run, or what it waits for, on its last event. */
export type RunOutcome = Without<Conclusion, "termination"> & {
  /** Text of the newest assistant message. */
  readonly response: string;
  /** The answer, when one of a certain shape was asked for and given. */
  readonly output?: JsonValue;
};

/**
 * How messages came into a run, as whoever sent them asked: as what it was started with, as what a run that waited goes on with, or by
 * `send`.
 */
export const INPUT_MODES = ["start", "resume", "queue", "steer", "interrupt"] as const;
export type InputMode = (typeof INPUT_MODES)[number];

/** A run that another one started, and the call that it answers. */
export interface ChildRun {
  /** The child's own id: its deltas are heard by following it. */
  readonly runId: RunId;
  /** The thread that the child runs on. */
  readonly threadId: ThreadId;
  /** The agent that it was started with. */
  readonly agentId: string;
  /** From the root agent to the child. */
  readonly agentPath: readonly string[];
  /** The call that waits for it; absent for a child that none waits for. */
  readonly toolCallId?: ToolCallId;
}

interface OfRun {
  /** The thread that the run is on. */
  readonly threadId: ThreadId;
  /** The same each time that the run goes on. */
  readonly runId: RunId;
}

interface OfCall {
  /** Unique in its turn, and not beyond it: vendors repeat ids. */
  readonly toolCallId: ToolCallId;
  /** The id of the tool. */
  readonly toolName: string;
}

interface Delta {
  /** What came now, to be put behind what came before. */
  readonly delta: string;
}

interface Because {
  /** For people. */
  readonly reason: string;
}

interface RunStart extends OfRun {
  readonly type: "run-start";
  /** Who the run is and where it came from. */
  readonly identity: RunIdentity;
  /** Id of the first assistant message of the run, the same each time it goes on: whoever shows a run as one answer uses it. */
  readonly answerId: MessageId;
  /** The run goes on: it waited, or its process died. */
  readonly resumed: boolean;
}

interface RunEnd extends OfRun {
  readonly type: "run-end";
  /** As the record has it. */
  readonly termination: Termination;
  /** What the run waits for, in the order of the calls. */
  readonly tickets: readonly Ticket[];
  /** What became of it, told apart by `status`. */
  readonly result: RunOutcome;
  /** Of the whole run, also before it waited. */
  readonly usage: Usage;
  /** The same, by model. */
  readonly usageByModel: readonly ModelUsage[];
}

/** The run is tried again after an attempt that did not come to its end. */
interface RunRetry extends Because {
  readonly type: "run-retry";
  /** The first retry is 1. */
  readonly attempt: number;
}

/** Messages that the model reads from here on. */
interface InputAccepted {
  readonly type: "input-accepted";
  /** As they are in the log. */
  readonly messages: readonly Message[];
  /** How they came in. */
  readonly mode: InputMode;
}

interface StepStart {
  readonly type: "step-start";
  /** Counts over the whole run, from 1. */
  readonly step: number;
  /** Of the assistant message that the step writes. */
  readonly messageId: MessageId;
  /** The agent that acts: another one after a handoff. */
  readonly agentId: string;
}

interface StepEnd {
  readonly type: "step-end";
  /** That of its `step-start`. */
  readonly step: number;
}

interface EncryptedReasoning {
  readonly type: "reasoning-encrypted-value";
  /** What the vendor wants back with the next request, and nobody can read. */
  readonly encryptedValue: string;
}

interface ToolCallDelta extends Delta {
  readonly type: "tool-call-delta";
  /** The call whose input this is a piece of. */
  readonly toolCallId: ToolCallId;
}

/** The call came whole. */
interface ToolCallReady extends OfCall {
  readonly type: "tool-call-ready";
  /** As the model wrote it. */
  readonly input: JsonValue;
  /** `client`: whoever started the run executes it. */
  readonly runsAt: "server" | "client";
  /** The tool is not one that the program declared: it was found while it runs. */
  readonly dynamic: boolean;
  /** What the tool says that it does: `read`, `edit`, `execute`, … */
  readonly kind?: string;
  /** Why it will not be run: there is no such tool. */
  readonly invalid?: string;
}

/** The call passed its gates and its tool runs now. */
interface ToolCallRun {
  readonly type: "tool-call-run";
  /** The call that runs. */
  readonly toolCallId: ToolCallId;
}

interface ToolCallEnd extends OfCall {
  readonly type: "tool-call-end";
  /** Of the message with the result. */
  readonly messageId: MessageId;
  /** `suspended`: it waits, and has its result later. */
  readonly outcome: ToolOutcome;
  /** What the call gave, or what it waits for. */
  readonly result: ToolResult;
}

/** A call of an earlier activation of the run has its result: it waited and was decided, or its process died. */
interface ToolCallResumed extends OfCall {
  readonly type: "tool-call-resumed";
  /** The assistant message that asked for it. */
  readonly messageId: MessageId;
  /** The ticket that was decided; absent when it did not wait. */
  readonly ticketId?: TicketId;
  /** `denied`: somebody said no, and the tool did not run. */
  readonly outcome: "succeeded" | "failed" | "denied";
  /** What it came to, as JSON: `{ data, metadata }` of a tool that gave both. */
  readonly result: JsonValue;
  /** What the model reads of it, of a tool that gave a text for it or metadata; else that is the JSON of `result`. */
  readonly message?: string;
  /** Images and documents of a tool that ran, beside it. */
  readonly media?: readonly MediaContent[];
}

/** The model began this call and the stream broke before it was complete. */
interface ToolCallCancel extends OfCall, Because {
  readonly type: "tool-call-cancel";
}

/**
 * A call waits, of this run or of one below it, and its ticket is on record: it can be decided from now on, also while other calls of the
 * turn run. A run that waits for another one is told of tickets that come there.
 */
interface TicketOpen {
  readonly type: "ticket-open";
  /** What `decide` takes the id of. */
  readonly ticket: Ticket;
}

/** Who decided what. `action` and what goes with it are as they were given. */
type DecisionTaken = OfCall & {
  readonly type: "decision-taken";
  /** The run that asked: this one, or one below it. */
  readonly runId: RunId;
  /** The ticket that is closed now. */
  readonly ticketId: TicketId;
  /** Unix milliseconds. */
  readonly decidedAt: number;
  /** Who, as far as that was said. */
  readonly by?: string;
  /** What plugins were told with it. */
  readonly metadata?: JsonObject;
} & DecisionAction;

/** Somebody found out what became of a call whose outcome was lost. */
interface OutcomeFound extends OfCall {
  readonly type: "outcome-found";
  /** That of the call. */
  readonly idempotencyKey: string;
  /** Whether its effect happened. */
  readonly found: "done" | "not-done";
  /** Unix milliseconds. */
  readonly foundAt: number;
  /** Who, as far as that was said. */
  readonly by?: string;
}

/** A message, and all that came behind it, is not part of the conversation any more: between runs, for whoever follows the thread. */
interface ThreadRewound {
  readonly type: "thread-rewound";
  /** The thread that was rewound. */
  readonly threadId: ThreadId;
  /** The first message that is gone. The log keeps it. */
  readonly messageId: MessageId;
}

/** The model refused or broke off, and is asked again after a wait. */
interface InferenceRetry extends Because {
  readonly type: "inference-retry";
  /** The first time is 1. */
  readonly attempt: number;
  /** How long it waits. */
  readonly delayMs: number;
}

interface InferenceEnd {
  readonly type: "inference-end";
  /** In the registry; a pool is its own provider. */
  readonly provider: string;
  /** The name that the provider knows it by. */
  readonly model: string;
  /** Of this inference, its retries included. */
  readonly usage: Usage;
  /** From the first request to the last part. */
  readonly durationMs: number;
  /** Tokens that the model takes at most; absent when nobody knows. */
  readonly contextWindow?: number;
  /** Why the model stopped. */
  readonly finishReason: StopReason | "error";
}

interface ChildStart extends ChildRun {
  readonly type: "child-start";
}

interface ChildEnd extends ChildRun {
  readonly type: "child-end";
  /** What became of the child. */
  readonly outcome: RunOutcome;
  /** Of the child and of what it started. */
  readonly usage: Usage;
}

interface StateSnapshot {
  readonly type: "state-snapshot";
  /** Only of keys that are `shared`. */
  readonly snapshot: PersistedState;
}

/** What a running tool reports, e.g. its progress. */
interface ActivitySnapshot {
  readonly type: "activity-snapshot";
  /** What it is about: the id of a call. */
  readonly messageId: string;
  /** `tool-call-progress`, or a tool's own. */
  readonly activityType: string;
  /** By its type; of `tool-call-progress` it is `ToolCallProgress`. */
  readonly content: JsonValue;
  /** It stands in the place of the one before. */
  readonly replace?: boolean;
}

/**
 * What happens while a run happens. Order: `run-start` first, one `run-end` last; between them steps alternate and never nest;
 * inside a step: deltas, then `tool-call-ready` in declaration order, then `inference-end`, then calls that run, wait and end, with one
 * completion per call in commit order (that of the calls, unless some take long; those behind one that waits have theirs when it is decided),
 * then `state-snapshot`, then `step-end`. `EVENT_TABLE` has a row for each type.
 */
export type AgentEvent =
  | RunStart
  | RunEnd
  | RunRetry
  | InputAccepted
  | StepStart
  | StepEnd
  | ({ readonly type: "text-delta" } & Delta)
  | ({ readonly type: "reasoning-delta" } & Delta)
  | EncryptedReasoning
  | ({ readonly type: "tool-call-start" } & OfCall)
  | ToolCallDelta
  | ToolCallReady
  | ToolCallRun
  | ToolCallEnd
  /** Output that a running tool streams. */
  | ({ readonly type: "tool-call-stream-delta" } & OfCall & Delta)
  | ToolCallResumed
  | ToolCallCancel
  | TicketOpen
  | DecisionTaken
  | OutcomeFound
  | ThreadRewound
  /** What was streamed in this step is void; it starts over. */
  | ({ readonly type: "stream-reset" } & Because)
  | InferenceRetry
  | InferenceEnd
  | ChildStart
  | ChildEnd
  | StateSnapshot
  | ActivitySnapshot;

export type AgentEventType = AgentEvent["type"];

/** What only a live listener needs: the log of a thread keeps everything else as a fact. */
const LIVE_EVENTS = [
  "step-start",
  "step-end",
  "text-delta",
  "reasoning-delta",
  "reasoning-encrypted-value",
  "tool-call-start",
  "tool-call-delta",
  "inference-retry",
  "tool-call-run",
  "tool-call-stream-delta",
  "state-snapshot",
  "activity-snapshot",
] as const satisfies readonly AgentEventType[];
export type LiveEventType = (typeof LIVE_EVENTS)[number];

const live: ReadonlySet<AgentEventType> = new Set(LIVE_EVENTS);

/** As `EVENT_TABLE` says, for whoever needs none of its schemas. */
export const isStoredEvent = (type: AgentEventType): boolean => !live.has(type);

/** `content` of an `activity-snapshot` of type `tool-call-progress`. */
export interface ToolCallProgress {
  /** Which form this is. */
  readonly schema: "tool-call-progress.v1";
  /** Of this report in a tree of them. */
  readonly nodeId: string;
  /** The call that reports. */
  readonly callId: ToolCallId;
  /** The id of its tool. */
  readonly toolName: string;
  /** How far it is. */
  readonly status: "pending" | "running" | "done" | "failed" | "cancelled";
  /** 0 to 1. */
  readonly progress?: number;
  /** Of `total`, in whatever the tool counts. */
  readonly loaded?: number;
  /** All that there is to do. */
  readonly total?: number;
  /** For people. */
  readonly message?: string;
  /** The report that this one is part of. */
  readonly parentNodeId?: string;
  /** The call that this one is part of. */
  readonly parentCallId?: ToolCallId;
  /** The run of the call. */
  readonly runId?: RunId;
  /** The run that started that one. */
  readonly parentRunId?: RunId;
  /** The thread of the run. */
  readonly threadId?: ThreadId;
}
