import type {
  InputMode,
  JsonObject,
  Message,
  MessageId,
  PersistedState,
  RunActivation,
  RunId,
  RunIdentity,
  RunOptions,
  RunRecord,
  ThreadId,
} from "@awaken/contract";
import type { ThreadHead } from "@awaken/contract/store";
import type { Holding } from "../commit/holding.ts";
import type { AddressedDecision } from "./decisions/addressed-decision.ts";
import type { OutputCheck, RunRetry } from "./run-context.ts";

/** The run that an activation is for: a new one, whose id the caller may have chosen, or one that goes on. */
export type OrderIntent =
  | {
      readonly type: "new";
      readonly runId: RunId | undefined;
      /** Its record, which was put down before, as whoever holds the thread has read it. Undefined: it is looked up. */
      readonly created?: RunRecord | undefined;
      /** It and its thread have one id, which nobody has used before: on a thread that is not there it is not looked up. */
      readonly isUnseen?: boolean;
    }
  | {
      readonly type: "resume";
      readonly runId: RunId;
      readonly decisions: readonly AddressedDecision[];
      /** The record on which it was decided to go on: when it has changed since, somebody else has the run. */
      readonly seen: RunRecord | undefined;
    };

/** Where a run comes from, as far as its request says. */
export type OrderTrace = Partial<Omit<RunIdentity, "threadId" | "runId" | "agentId" | "dispatchId">>;

/** A request that was read: nothing in it is wrong by itself. */
export interface RunOrder {
  readonly threadId: ThreadId;
  /** Its id was made for it: it is not looked up. */
  readonly isNewThread?: true | undefined;
  readonly intent: OrderIntent;
  readonly agentId?: string | undefined;
  /** The id that a new run gets, when it is known before. */
  readonly newRunId?: RunId | undefined;
  readonly input: readonly Message[];
  /** How messages of the input were sent that waited in the queue of the thread. All others are what whoever asks starts or resumes the run with. */
  readonly inputModes?: ReadonlyMap<MessageId, InputMode> | undefined;
  /** Ids that the caller gave to messages: they may be in the log already. */
  readonly namedMessages: readonly MessageId[];
  readonly trace: OrderTrace;
  /** On whose behalf, if the run is new. */
  readonly principal?: JsonObject | undefined;
  /** What it leaves out a run that goes on has on record. */
  readonly options: Partial<RunOptions>;
  /** The code of the schema whose JSON Schema the options have. */
  readonly checkOutput?: OutputCheck | undefined;
  readonly signal?: AbortSignal | undefined;
  /** The run is taken up only to be ended: what became of its agent, its plugins or its state does not keep it from that. */
  readonly isEnding?: true;
  /** The run that started it is at work in this process, and waits for it: its end wakes nobody. */
  readonly isAwaited?: true;
  /** What keys of its state begin with. One that its agent does not have fails it. */
  readonly seed?: PersistedState | undefined;
  /** What it is told as when it was tried before and did not come to its end. */
  readonly retry?: RunRetry | undefined;
  /** Of whoever holds the thread by a dispatch. */
  readonly holding?: Holding | undefined;
  /** What he found when he took it, which nobody else has changed since; left out, it is loaded. */
  readonly found?: FoundThread | undefined;
}

/** A run that goes on, and its thread, from one moment. */
export interface FoundThread {
  readonly run: RunRecord | undefined;
  readonly head: ThreadHead | undefined;
}

/** Where a run comes from, as its record keeps it: without what the record says itself. */
export function traceOf(identity: RunIdentity): RunActivation["trace"] {
  const { origin, runMode, adapter, parentThreadId, parentToolCallId, agentPath, ancestors, taskId } = identity;
  const { transportRequestId, correlationId } = identity;
  const trace: { -readonly [Key in keyof RunActivation["trace"]]: RunActivation["trace"][Key] } = { origin, runMode, adapter };
  if (parentThreadId !== undefined) trace.parentThreadId = parentThreadId;
  if (parentToolCallId !== undefined) trace.parentToolCallId = parentToolCallId;
  if (agentPath !== undefined) trace.agentPath = agentPath;
  if (ancestors !== undefined) trace.ancestors = ancestors;
  if (taskId !== undefined) trace.taskId = taskId;
  if (transportRequestId !== undefined) trace.transportRequestId = transportRequestId;
  if (correlationId !== undefined) trace.correlationId = correlationId;
  return trace;
}
