import type {
  AgentEvent,
  InferenceRequest,
  JsonObject,
  Log,
  Message,
  MessageId,
  PersistedState,
  RunIdentity,
  RunOptions,
  ScopeId,
  Suspension,
  Termination,
  Ticket,
  TicketId,
  ToolCallId,
  ToolCallState,
  ToolDescriptor,
  ToolMessage,
  ToolResult,
  Validated,
} from "@awaken/contract";
import type { Boundary, StreamCheckpointStore } from "@awaken/contract/store";
import type { WayOut } from "../commit/holding.ts";
import type { Landing } from "../commit/land.ts";
import type { OpenEntry, RunLedger } from "../commit/run-ledger.ts";
import type { RunWriter } from "../commit/run-writer.ts";
import type { Tally } from "../commit/tally.ts";
import type { Transcript } from "../commit/transcript.ts";
import type { Inferred } from "../inference/inference-run.ts";
import type { CheckpointSlot } from "../inference/stream-checkpoint.ts";
import type { PhaseEngine } from "../phase/engine.ts";
import type { RunScene } from "../phase/hook.ts";
import type { Plugin } from "../plugin/define-plugin.ts";
import type { InboxItem } from "../plugin/inbox.ts";
import type { MadeMessages } from "../prompt/made-messages.ts";
import type { LateProfiles } from "../state/profile.ts";
import type { RunState } from "../state/run-state.ts";
import type { Bounds } from "../stream/bounds.ts";
import type { Clock } from "../stream/clock.ts";
import type { Door, Late } from "../stream/door.ts";
import type { Ids } from "../stream/ids.ts";
import type { Listeners } from "../stream/listeners.ts";
import type { Queue } from "../stream/queue.ts";
import type { RunAgent } from "../tool/child-result.ts";
import type { PreparedCall, Tool, ToolReply } from "../tool/tool.ts";
import type { Incoming } from "./accepted-input.ts";
import type { Children } from "./children.ts";
import type { AddressedDecision } from "./decisions/addressed-decision.ts";
import type { CallEnding, EarlierCall } from "./earlier-call.ts";
import type { AllowedCall, Gated, LiveCall, ReadyCall } from "./live-call.ts";
import type { RunPlan } from "./run-plan.ts";
import type { RunTasks } from "./run-tasks.ts";
import type { StepOutcome } from "./step-outcome.ts";
import type { StepProgress } from "./step-progress.ts";

/** Whether an answer fits what the run was asked for. */
export type OutputCheck = (value: unknown) => Validated<unknown> | Promise<Validated<unknown>>;

/** The schema of an answer, with the code that checks it. */
export interface LiveOutput {
  readonly schema: JsonObject;
  readonly check: OutputCheck;
}

/** The agent that is active now. Only a handoff changes it, between two steps. */
export interface ActiveAgent {
  plan: RunPlan;
  /** The plan's tools with the frontend tools over them. */
  tools: ReadonlyMap<string, Tool>;
  /** Sorted by id; the same array until the agent changes. */
  descriptors: readonly ToolDescriptor[];
  toolIds: readonly string[];
  /** What hooks, gates and tools see of the run. */
  scene: RunScene;
  /** What its plugins hold of the run; undefined while none holds anything. */
  bindings: Bindings | undefined;
  /** Makes the messages of a request small enough under this plan, since one was refused as too long. */
  requestLimit?: { readonly plan: RunPlan; readonly fit: (messages: readonly Message[]) => readonly Message[] };
}

/** Where decisions are taken about calls that wait while the run is active. */
export interface Desk {
  /** The run is leaving: whoever comes now finds it in its record. */
  isClosed: boolean;
  /** Decisions that are being checked and written. Never rejects. */
  taking: Promise<unknown> | undefined;
  /** Decisions that listeners have not heard of. */
  untold: readonly AgentEvent[];
  /** Those about calls that do not wait yet, kept to the end of the step (`early-decisions.ts`). */
  early: readonly (readonly AddressedDecision[])[];
}

/** Which try again it is, and why. */
export type RunRetry = Omit<Extract<AgentEvent, { readonly type: "run-retry" }>, "type">;

/** What is told of a run: all runs share the code, which a closure for each would be 0.2 KiB of. */
export type Teller = Pick<RunContext, "listeners">;
export type Emitter = Pick<RunContext, "listeners" | "writer" | "progress" | "tell">;

/** Everything one run has, built once. Helpers take `(ctx, theNewThing)`. */
export interface RunContext {
  /** The tenant. */
  readonly scopeId: ScopeId;
  readonly identity: RunIdentity;
  /** On whose behalf. */
  readonly principal: JsonObject | undefined;
  readonly options: RunOptions;
  /** Set when the options ask for an answer of a certain shape. */
  readonly checkOutput: OutputCheck | undefined;
  /** The same run goes on: it was waiting, or its process died. */
  readonly isContinuation: boolean;
  /** Set when it was tried before and did not come to its end. */
  readonly retry: RunRetry | undefined;
  /** After a cancel: how long a tool may take to stop by itself. */
  readonly cancelGraceMs: number;
  readonly active: ActiveAgent;
  readonly state: RunState;
  readonly phases: PhaseEngine;
  readonly transcript: Transcript;
  /** The one way to the store. */
  readonly writer: RunWriter;
  /** Who holds the thread, and what waits there. */
  readonly landing: Landing;
  /** Undefined when nothing of the run can outlive its process. */
  readonly ledger: RunLedger | undefined;
  /** Calls of a step that was cut off after its turn was committed. */
  readonly cutCalls: readonly LiveCall[];
  readonly tally: Tally;
  readonly progress: StepProgress;
  /** What it was asked with this activation, until it has begun: then it is in the transcript. */
  input: readonly Incoming[];
  /** The first of it. */
  readonly firstInput: MessageId | undefined;
  /** What keys of a new run begin with, whatever its plugins begin with. */
  readonly seed: PersistedState | undefined;
  readonly inbox: Queue<InboxItem>;
  readonly desk: Desk;
  readonly signal: AbortSignal;
  readonly clock: Clock;
  /** How long the code of others may keep it waiting. */
  readonly bounds: Bounds;
  readonly ids: Ids;
  madeMessages: MadeMessages | undefined;
  readonly log: Log;
  /** Reaches listeners at once; never fails and never waits. */
  tell(this: Teller, event: AgentEvent): void;
  /** The same, and facts ride in the next commit. */
  emit(this: Emitter, event: AgentEvent): void;
  /** Whoever hears what is told. */
  readonly listeners: Listeners<AgentEvent>;
  readonly profileStore: LateProfiles | undefined;
  /** Where answers in progress are kept; undefined: nowhere. */
  readonly streams: StreamCheckpointStore | undefined;
  /** How it leaves before its end; undefined: it does not. */
  readonly wayOut: WayOut | undefined;
  /** What most runs come to their end without. */
  readonly seldom: Door<Seldom>;
  /** The runs that this one starts. */
  readonly children: Children;
  /** Work in the background of its thread. */
  readonly tasks: RunTasks;
  readonly plans: AgentPlans;
}

/** The agents of the registry snapshot of a run. */
export interface AgentPlans {
  /** The plan of another agent, when its plugins are open. */
  replan(agentId: string): Promise<RunPlan>;
}

/** What becomes of an answer that had to fit a schema. */
export type Judged = "fits" | "again" | Termination;

/** What the runs that a call starts have of it. */
export interface Calling {
  readonly signal: AbortSignal;
  readonly idempotencyKey: string;
  readonly traceParent: string | undefined;
}

type Backend = NonNullable<RunPlan["backend"]>;

/** What plugins hold of a run for as long as they are bound. */
export interface Bindings {
  bind(plugins: readonly Plugin[]): void;
  release(staying: readonly Plugin[]): void;
}

/** A suspension whose ticket has its id. */
export type Ticketed = Suspension & { readonly id: TicketId };

/** The calls of a turn, as those know them who bring to its end what is odd in it (`odd-round.ts`). */
export interface OpenRound {
  readonly ctx: RunContext;
  readonly calls: readonly LiveCall[];
  /** Ids of calls that have a result, or wait. */
  readonly settled: string[];
  readonly isSequential: boolean;
  /** Those that are under way. */
  readonly running: { readonly size: number; readonly isLasting: boolean };
  /** They passed their gates and have not begun. */
  readonly allowed: AllowedCall[];
  /** In sequence, nothing runs after a call that waits. */
  isStopped: boolean;
  /** Something is not on record: the turn itself, which only a claim writes before, or a call that has its result, or waits. */
  isDirty: boolean;
  isListed: boolean;
  readonly failure: { readonly thrown: unknown } | undefined;
  /** Nothing begins any more. */
  readonly isClosing: boolean;
  /** Begins what passed its gates; in sequence it is over when this returns. */
  start(): Promise<void>;
  /** Returns when all are over, or, if that will do, as soon as the round lasts. */
  bringToEnd(mayLast?: boolean): Promise<void>;
  /** Without a promise when no hook has to be waited for. Behind a failure, the result is recorded and no more. */
  finish(live: LiveCall, reply: ToolReply): Late<void>;
  note(result: ToolResult): void;
}

/** Calls that wait, with what abandons them. */
export interface OpenCalls {
  readonly calls: readonly ToolCallState[];
  /** The message, if it is one. */
  readonly closing: MessageId | undefined;
  readonly landing: Landing;
  readonly ledger: RunLedger | undefined;
  /** The run that they are of goes on. */
  readonly isContinuation: boolean;
  readonly identity: RunIdentity;
  readonly steps: number;
  readonly ids: Ids;
  readonly now: number;
}

/** How a run waits and goes on, changes over to another agent, and asks others: `seldom.ts`, loaded in one piece by the first run that does. Handed down, because it uses the loop. */
export interface Seldom {
  suspend(ctx: RunContext): Promise<Termination | undefined>;
  finishCalls(ctx: RunContext): Promise<Termination | undefined>;
  followHandoffs(ctx: RunContext): Promise<Termination | undefined>;
  runRemoteStep(ctx: RunContext, id: MessageId, backend: Backend): Promise<StepOutcome>;
  abortRemote(ctx: RunContext, backend: Backend): Promise<void>;
  agentRunner(ctx: RunContext, live: LiveCall, calling: Calling): RunAgent;
  judge(ctx: RunContext, checkOutput: OutputCheck): Promise<Judged>;
  judgeEarly(ctx: RunContext, checkOutput: OutputCheck): Promise<void>;
  findOutcome(ctx: RunContext, live: LiveCall, claim: OpenEntry): Promise<Gated | undefined>;
  intercept(round: OpenRound, live: LiveCall, first: Extract<Gated, { type: "intercepted" }>): Promise<string | undefined>;
  finishOdd(round: OpenRound, call: AllowedCall, reply: ToolReply): Late<void>;
  putOnRecord(round: OpenRound): Promise<void>;
  closeOpen(round: OpenRound): Promise<void>;
  endBegun(ctx: RunContext, termination: Termination, isElsewhere: boolean, isOver: boolean): Promise<void>;
  allTickets(ctx: RunContext): Promise<readonly Ticket[]>;
  askGates(ctx: RunContext, live: LiveCall, tool: Tool | undefined, begun?: Promise<Validated<PreparedCall>>): Promise<Gated>;
  takeIn(ctx: RunContext, at: Boundary): Promise<boolean>;
  readInput(ctx: RunContext): Promise<void>;
  lookAfterTasks(ctx: RunContext, wasAwaiting: boolean, canRead: boolean): Promise<Termination | undefined>;
  awaitTasks(ctx: RunContext): Promise<Termination | undefined>;
  tellLost(ctx: RunContext, inferred: Inferred): void;
  askInside(ctx: RunContext, request: InferenceRequest, work: () => Promise<Inferred>): Promise<Inferred>;
  executeInside(ctx: RunContext, ready: ReadyCall, done: (reply: ToolReply) => void): void;
  shrink(ctx: RunContext, refused: InferenceRequest): Promise<InferenceRequest | undefined>;
  bindPlugins(ctx: RunContext): Late<void>;
  ticketed(ctx: RunContext, suspension: Suspension): Ticketed;
  suspendedState(ctx: RunContext, live: LiveCall, suspension: Ticketed): ToolCallState;
  announceTicket(ctx: RunContext, callId: ToolCallId): void;
  callResumed(call: EarlierCall, ending: CallEnding): AgentEvent;
  abandonCalls(state: RunState, open: OpenCalls): readonly ToolMessage[];
  streamSlot(ctx: RunContext, store: StreamCheckpointStore): CheckpointSlot;
}
