import type { AgentEvent, Backend, Log, RunIdentity, ScopeId } from "@awaken/contract";
import type { LiveStore, StreamCheckpointStore } from "@awaken/contract/store";
import type { RootNeeds } from "../backend/check-profile.ts";
import type { MessagePort } from "../builtin/background/open-tasks.ts";
import type { TenantTasks } from "../builtin/background/task-table.ts";
import type { Holding } from "../commit/holding.ts";
import type { Children } from "../loop/children.ts";
import type { LeftRun, LoopOutcome, LoopResult } from "../loop/finish.ts";
import type { RunContext } from "../loop/run-context.ts";
import type { RunOrder } from "../loop/run-order.ts";
import type { RunRecords } from "../loop/run-records.ts";
import type { RunTasks, TaskScene } from "../loop/run-tasks.ts";
import type { Resolution, Resolver } from "../resolve/resolver.ts";
import type { LateProfiles } from "../state/profile.ts";
import type { Bounds, Limits } from "../stream/bounds.ts";
import type { Clock } from "../stream/clock.ts";
import type { Late } from "../stream/door.ts";
import type { Ids } from "../stream/ids.ts";
import type { Hearer } from "../stream/listeners.ts";
import type { SilenceWatch } from "../stream/silence-watch.ts";
import type { ActiveRun, ActiveRuns } from "./active-runs.ts";
import type { Holds } from "./holds.ts";
import type { LiveOutputs } from "./live-outputs.ts";

/** How a run is started. */
export type StartRun = (parts: RunParts, order: RunOrder) => { readonly run: ActiveRun; readonly result: Promise<LoopOutcome> };

/** What one run is executed with. */
export interface RunInit {
  /** Bound to the run. */
  readonly parts: RunParts;
  /** Those of the runtime: what the run leaves behind does not end with it. */
  readonly ofRuntime: RunParts;
  readonly run: ActiveRun;
  /** What was registered when the run began. */
  readonly resolution: Resolution;
  readonly start: StartRun;
  /** What was opened for it last, to be closed when it is over here: that closes what was opened before it. */
  tasks: OpenedTasks | undefined;
}

/** Background work of a run, while that is at work here. */
export interface OpenedTasks extends RunTasks {
  close(): void;
}

/** What most runs do without. Handed down: it is loaded when it is first needed, and starts runs itself. */
export interface More {
  /** The runs that a run starts. */
  children(init: RunInit): Children;
  /** Rejects when a backend cannot do what a root run asks of it. */
  checkRoot(agentId: string, backend: Backend, needs: RootNeeds): Promise<void>;
  /** The background work of a run. */
  tasks(init: RunInit, scene: TaskScene): OpenedTasks;
  /** Where nothing rides in commits, the thread that a task belongs to is told of its end when that is on record. */
  tellOwner(parts: RunParts, identity: RunIdentity): Promise<void>;
  /** Takes a run up that waits under this run id or thread id, to end it. */
  stopWaiting(parts: TenantParts, id: string): Promise<ActiveRun | undefined>;
  /** When the run that was told to stop has left its thread. Rejects when it does not in time, or nobody waits for that any more. */
  freed(parts: TenantParts, run: ActiveRun, signal: AbortSignal | undefined): Promise<void>;
  /** Whether the run that was told to stop has left its thread by then. */
  isReleased(parts: TenantParts, run: ActiveRun, timeoutMs: number): Promise<boolean>;
  /** What whoever waits for a run is told of one that left, or could not write its last commit and is tried again. */
  left(ended: LoopOutcome, ctx: RunContext, holding: Holding | undefined): Promise<LeftRun>;
  /** What a run has used, with all that it started. */
  withFamily(parts: TenantParts, result: LoopResult): Promise<LoopResult>;
  /** What becomes of a run that went on elsewhere. */
  followedElsewhere(parts: TenantParts, left: LeftRun, awaited?: Awaited): Promise<LoopResult>;
}

/** Who waits for a run. */
export interface Awaited {
  /** Tells it to stop. */
  readonly signal?: AbortSignal | undefined;
  /** Hears what happens. */
  readonly told?: Hearer<AgentEvent> | undefined;
}

/** Until when a run that left is followed. */
export interface FollowUntil {
  /** Aborted: what is on record by then is told, and nothing more is waited for. */
  readonly enough: AbortSignal;
  /** Aborted: nobody is there to be told. */
  readonly signal: AbortSignal;
}

/** What happens in a run that left, behind what was told of it, wherever that is. */
export type FollowLeft = (left: LeftRun, until: FollowUntil) => AsyncIterable<AgentEvent>;

/** What of a tenant is there at once, also before its store is opened: enough to take a thread. Registries, clock, ids and limits are those of the runtime. */
export interface TenantParts {
  readonly scopeId: ScopeId;
  readonly resolver: Resolver;
  readonly active: ActiveRuns;
  /** What is loaded when it is first needed. */
  readonly more: More;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: Log;
  readonly cancelGraceMs: number;
  readonly limits: Limits;
  /** Looks for silence of all streams. */
  readonly silence: SilenceWatch;
  /** Aborted when the runtime is closed: nothing starts and nobody waits any more. */
  readonly closing: AbortSignal;
  /** With the records. */
  all(): Late<RunParts>;
}

/** What every run of one tenant shares. */
export interface RunParts extends TenantParts {
  readonly records: RunRecords;
  readonly profiles: LateProfiles;
  readonly streams: StreamCheckpointStore | undefined;
  /** Wakes whoever waits for a run of another process. */
  readonly live: LiveStore | undefined;
  readonly outputs: LiveOutputs;
  /** Work in the background of its threads. */
  readonly tasks: TenantTasks;
  /** How messages of agents travel to other threads. */
  readonly messages: MessagePort;
  readonly follow: FollowLeft;
  /** Undefined where no other process can get at the threads. */
  readonly holds?: Holds | undefined;
  /** How many runs may stand above a run. */
  readonly maxDelegationDepth: number;
  /** How long whatever the runtime, or the run that these parts are bound to, waits for may take. */
  readonly bounds: Bounds;
  /** The same parts for one run, whose requests to the store are raced against its abort. */
  boundTo(bounds: Bounds): RunParts;
  /** The parts of another tenant: nobody keeps them, so they cost nothing that must be released. */
  scoped(scopeId: ScopeId): RunParts;
}
