import type {
  AgentEvent,
  InputMode,
  JsonObject,
  Log,
  Message,
  MessageId,
  PersistedState,
  RunIdentity,
  RunOptions,
  ScopeId,
} from "@awaken/contract";
import type { SequencedMessage, StreamCheckpointStore } from "@awaken/contract/store";
import type { WayOut } from "../commit/holding.ts";
import type { Landing } from "../commit/land.ts";
import type { OpenEntry, RunLedger } from "../commit/run-ledger.ts";
import type { Counted } from "../commit/tally.ts";
import type { InboxItem } from "../plugin/inbox.ts";
import type { Reading } from "../state/decode-value.ts";
import type { LateProfiles } from "../state/profile.ts";
import type { Bounds } from "../stream/bounds.ts";
import type { Clock } from "../stream/clock.ts";
import type { Door } from "../stream/door.ts";
import type { Ids } from "../stream/ids.ts";
import type { Listeners } from "../stream/listeners.ts";
import type { Queue } from "../stream/queue.ts";
import type { Children } from "./children.ts";
import type { AddressedDecision } from "./decisions/addressed-decision.ts";
import type { LiveCall } from "./live-call.ts";
import type { AgentPlans, OutputCheck, RunRetry, Seldom } from "./run-context.ts";
import type { RunPlan } from "./run-plan.ts";
import type { RunTasks, TaskScene } from "./run-tasks.ts";

/** What the thread's records say. */
export interface ThreadHistory {
  /** The effective view. */
  readonly messages: readonly SequencedMessage[];
  /** Rows in the raw log. */
  readonly messageCount: number;
  readonly threadState: PersistedState | undefined;
  /** Of the same run, when it goes on. */
  readonly run: { readonly state: PersistedState | undefined; readonly counted: Counted } | undefined;
  /** Calls of a step that was cut off; their message is in the view. */
  readonly cutCalls: readonly LiveCall[];
  /** What the effect ledger has open of the run. Undefined when none is kept. */
  readonly ledger: readonly OpenEntry[] | undefined;
}

/** What to run, as data. */
export interface Activation {
  readonly identity: RunIdentity;
  /** On whose behalf. */
  readonly principal: JsonObject | undefined;
  readonly plan: RunPlan;
  readonly history: ThreadHistory;
  /** New messages. Those that are in the log already belong into the history instead. */
  readonly input: readonly Message[];
  /** Of those that were sent otherwise than with the request. */
  readonly inputModes?: ReadonlyMap<MessageId, InputMode> | undefined;
  readonly options: RunOptions;
  /** Set when the options ask for an answer of a certain shape. */
  readonly checkOutput: OutputCheck | undefined;
  /** The same run goes on: it was waiting, or its process died. */
  readonly isContinuation: boolean;
  /** What a run that waits is resumed with. */
  readonly seededDecisions: readonly AddressedDecision[];
  /** Set when it was tried before and did not come to its end. */
  readonly retry?: RunRetry | undefined;
  /** What keys of a new run begin with. */
  readonly seed?: PersistedState | undefined;
  /** Default: each key decides about a stored value that does not fit it. */
  readonly reading?: Reading;
}

/** Where what it does is put on record. */
export interface RunWriting {
  readonly landing: Landing;
  /** Undefined: no effects are kept. */
  readonly ledger?: RunLedger | undefined;
}

/** What it runs with: live objects of this process. */
export interface RunHandles {
  /** The tenant. */
  readonly scopeId: ScopeId;
  readonly signal: AbortSignal;
  readonly clock: Clock;
  readonly bounds: Bounds;
  readonly ids: Ids;
  readonly log: Log;
  /** While nobody listens, no event is made that only a listener would read. */
  readonly listeners: Listeners<AgentEvent>;
  readonly inbox: Queue<InboxItem>;
  readonly profileStore: LateProfiles | undefined;
  readonly streams?: StreamCheckpointStore | undefined;
  /** How it leaves before its end; undefined: it does not. */
  readonly wayOut?: WayOut | undefined;
  readonly seldom: Door<Seldom>;
  /** After a cancel: how long a tool may take to stop by itself. */
  readonly cancelGraceMs: number;
  readonly plans: AgentPlans;
  readonly children: Children;
  /** Tasks in the background of its thread. */
  tasks(scene: TaskScene): RunTasks;
}
