import {
  AwakenError,
  dispatchId,
  errorMessage,
  type Log,
  NOWHERE,
  type RunId,
  type RunProjection,
  type ScopeId,
  type ThreadId,
} from "@awaken/contract";
import {
  type Boundary,
  type ClaimedDispatch,
  type CommitResult,
  type DispatchChange,
  type DispatchRecord,
  type DispatchResult,
  type EventCursor,
  type Fence,
  type Outbound,
  type PendingConsumption,
  type PendingQueue,
  type PendingRecord,
  selectPending,
  type ThreadCommit,
  type WishRecord,
} from "@awaken/contract/store";
import type { CommitPorts } from "../commit/commit-store.ts";
import type { Departure, Holding, Riders, ToldPlace, WayOut } from "../commit/holding.ts";
import type { ActiveRun } from "../run/active-runs.ts";
import type { Clock } from "../stream/clock.ts";
import { uuidIds } from "../stream/ids.ts";
import { Abandoned, openBelow } from "./abandoned.ts";
import { inOne, type Ports } from "./in-one.ts";
import type { Lease, Leases } from "./leases.ts";
import { Leave, type YieldBefore } from "./leave.ts";
import { OpenWishes } from "./open-wishes.ts";
import { parentNews } from "./parent-news.ts";
import { parentWake } from "./parent-wake.ts";
import type { Ask, TenantQueue } from "./tenant-queue.ts";
import type { Watchers } from "./watchers.ts";

export interface HoldInit {
  readonly tenant: TenantQueue;
  readonly consumer: string;
  readonly leaseMs: number;
  readonly maxAttempts: number;
  readonly leases: Leases;
  /** Whether workers of this process take up what waits in the queue. */
  readonly hasWorkers: boolean;
  readonly clock: Clock;
  readonly yieldBefore: YieldBefore | undefined;
  readonly log: Log;
  readonly ask: Ask;
  readonly watchers: Watchers;
  /** Tells a run to stop that nobody waits for. Never rejects. */
  stop(run: RunId): Promise<void>;
}

/** What a dispatch from the queue begins with. */
export interface Opening {
  readonly claimed: ClaimedDispatch;
  /** When the claim was asked for, by this process' clock. */
  readonly askedAt: number;
  /** Wishes that the run is taken up with. */
  readonly wishes: readonly WishRecord[];
  /** Messages that it is taken up with, out of the queue of its thread. */
  readonly consume: PendingConsumption | undefined;
}

type Writable<T> = { -readonly [Key in keyof T]: T[Key] };

const NOTHING: readonly never[] = Object.freeze([]);

/**
 * One run's hold on its thread. The first commit makes the dispatch and claims it in one, unless it came from the queue; every later one
 * shows the fence, and the last one settles it. Wishes and messages of others are looked for when somebody says that there are some.
 */
export class Hold implements Holding, Lease {
  readonly tenant: TenantQueue;
  readonly #init: HoldInit;
  readonly #dispatchId;
  readonly #opening: Opening | undefined;
  readonly #leave: Leave;
  readonly #entrance: ((ports: Ports, at: number | undefined) => Promise<unknown>) | undefined;
  /** What others want; most runs are over before anybody wants anything. */
  #wishes: OpenWishes | undefined;
  /** Runs that its own does not wait for any more; most wait for none. */
  #abandoned: Abandoned | undefined;
  #run: ActiveRun | undefined;
  #isAwaited = false;
  #claimed: ClaimedDispatch | undefined;
  #isSettled = false;
  /** Whoever goes on with the run does so from its last commit, also when the store would still take one from here. */
  #loss: AwakenError | undefined;
  #hasMail = false;
  #hasLanded = false;
  #place: EventCursor | undefined;
  /** When the commit that claims the thread was sent. */
  #askedAt = 0;
  seat = NOWHERE;
  heldAt = 0;

  /** `entrance`: what comes to be in one transaction with the first commit of the run, which has this time. */
  constructor(init: HoldInit, opening?: Opening, entrance?: (ports: Ports, at: number | undefined) => Promise<unknown>) {
    this.#init = init;
    this.#entrance = entrance;
    this.tenant = init.tenant;
    this.#opening = opening;
    this.#leave = leaveOf(init, opening);
    this.#dispatchId = opening?.claimed.dispatchId ?? dispatchId(uuidIds());
    if (opening === undefined) return;
    if (opening.wishes.length > 0) this.#openWishes(opening.wishes);
    this.#hold(opening.claimed, opening.askedAt);
  }

  #openWishes(found: readonly WishRecord[]): OpenWishes {
    const { ask, log } = this.#init;
    this.#wishes ??= new OpenWishes({ holder: this, ask, log }, found);
    return this.#wishes;
  }

  /** Of the run that it is for; its id may turn out to be another one. */
  bind(run: ActiveRun, isAwaited: boolean): void {
    this.#run = run;
    this.#isAwaited = isAwaited;
    if (isAwaited) this.#leave.beginsAgain();
  }

  get wayOut(): WayOut {
    return this.#leave;
  }

  async place(): Promise<ToldPlace> {
    const run = this.#run;
    if (this.#place !== undefined) return { type: "up-to", cursor: this.#place };
    // Nothing is known to be on record from here. As long as the thread is held, nobody else goes on with the run.
    if (run === undefined || !this.isHeld) return { type: "unknown" };
    const read = await this.#read("the end of a log", this.#endOf(run.runId));
    if (read === undefined || !this.isHeld) return { type: "unknown" };
    return read.cursor === undefined ? { type: "nothing" } : { type: "up-to", cursor: read.cursor };
  }

  async #endOf(runId: RunId): Promise<{ readonly cursor: EventCursor | undefined }> {
    return { cursor: await this.tenant.events.loadHead({ type: "run", runId }) };
  }

  /** Lets the run leave at its next step, for whoever goes on with it. */
  askToLeave(): void {
    this.#leave.ask();
  }

  get fence(): Fence {
    return this.#fence ?? { dispatchId: this.#dispatchId, claimToken: "none" };
  }

  /** What it claimed the thread with. Undefined: it has not. */
  get #fence(): Fence | undefined {
    return this.#claimed === undefined ? undefined : { dispatchId: this.#claimed.dispatchId, claimToken: this.#claimed.claimToken };
  }

  /** The dispatch, as it was when it was claimed. */
  get claimed(): ClaimedDispatch | undefined {
    return this.#claimed;
  }

  /** Whether a worker took it out of the queue: he settles what its run does not. */
  get isFromQueue(): boolean {
    return this.#opening !== undefined;
  }

  get isTriedAgain(): boolean {
    return this.isFromQueue;
  }

  isOf(scopeId: ScopeId, runId: RunId): boolean {
    return this.tenant.scopeId === scopeId && this.#run?.isKnownAs(runId) === true;
  }

  isOn(scopeId: ScopeId, threadId: ThreadId): boolean {
    return this.tenant.scopeId === scopeId && this.#run?.threadId === threadId;
  }

  /** Gives the thread back as it is on record, and leaves the run. */
  async release(): Promise<void> {
    if (!this.isHeld) return;
    const { fence } = this;
    this.settle();
    await this.#init.ask("give a dispatch back", this.tenant.dispatches.release(fence));
    this.lost("the runtime was closed");
  }

  /** It has the thread, and nothing has settled that yet. */
  get isHeld(): boolean {
    return this.#claimed !== undefined && !this.#isSettled;
  }

  /** It was told to stop, by whomever; what was taken over goes on. */
  get isCancelled(): boolean {
    const signal = this.#run?.controller.signal;
    return signal?.aborted === true && signal.reason !== this.#loss;
  }

  get isSettled(): boolean {
    return this.#isSettled;
  }

  first({ runId, run }: ThreadCommit, write: (ports: CommitPorts) => Promise<CommitResult>): Promise<CommitResult> | undefined {
    const enter = this.#entrance;
    // What a run is ended for that it leaves behind is not its own first commit.
    if (enter === undefined || this.#run?.isKnownAs(runId) !== true) return undefined;
    return inOne({ queue: this.tenant, ask: this.#init.ask }, "commit a transaction", async (ports) => {
      await enter(ports, run?.updatedAt);
      return write(ports);
    });
  }

  riders({ runId, run, events, isFirst, result }: Departure): Riders {
    if (this.#loss !== undefined) throw this.#loss;
    // Messages that come behind the last commit are written without: the dispatch is over. A run never is, also while it is given back.
    const fence = this.#isSettled && run === undefined ? undefined : this.#fence;
    const riders: Writable<Riders> = {};
    const outbound = run === undefined ? NOTHING : this.#outbound(run, events);
    if (outbound.length > 0) riders.outbound = outbound;
    if (this.#run?.isKnownAs(runId) === false) {
      if (fence !== undefined) riders.fence = fence;
      return riders;
    }
    const dispatch = this.#change(runId, isFirst && run !== undefined, result);
    const takes = this.#wishes?.takes(run) ?? NOTHING;
    if (fence !== undefined) riders.fence = fence;
    if (dispatch !== undefined) riders.dispatch = dispatch;
    if (takes.length > 0) riders.takes = takes;
    if (isFirst && this.#opening?.consume !== undefined) riders.pending = { consume: this.#opening.consume };
    return riders;
  }

  /** For other threads. */
  #outbound(run: RunProjection, events: Departure["events"]): readonly Outbound[] {
    const abandoned = this.#abandoned?.outbound ?? NOTHING;
    if (run.parentRunId === undefined) return abandoned;
    return [...(this.#isAwaited ? NOTHING : parentWake(run)), ...parentNews(run, events), ...abandoned];
  }

  abandon(runs: readonly RunId[]): void {
    if (runs.length === 0) return;
    this.#abandoned ??= new Abandoned((id) => this.#init.stop(id));
    this.#abandoned.add(runs);
  }

  get isAbandoning(): boolean {
    return this.#abandoned !== undefined;
  }

  async abandonBelow(run: RunId): Promise<void> {
    this.abandon(await openBelow({ ...this.#init, queue: this.tenant }, run));
  }

  landed(commit: ThreadCommit, result: CommitResult | undefined): Promise<void> | undefined {
    const after = this.#landed(commit, result);
    const told = commit.outbound === undefined ? undefined : this.#abandoned?.landed(commit.outbound);
    return told === undefined ? after : Promise.all([after, told]).then(() => {});
  }

  #landed(
    { runId, dispatch, run, threadState, takes = NOTHING, isNewRun }: ThreadCommit,
    result: CommitResult | undefined,
  ): Promise<void> | undefined {
    const isFirst = !this.#hasLanded;
    this.#hasLanded = true;
    this.#init.watchers.ended(run, dispatch?.type === "dead-letter" ? "dead_letter" : undefined);
    this.#wishes?.landed(takes);
    const isOwn = this.#run?.isKnownAs(runId) === true;
    if (this.#run !== undefined && isOwn) {
      this.#written(this.#run, run, threadState);
      this.#place = result?.lastCursor ?? result?.events.at(-1)?.cursors.run ?? this.#place;
    }
    // What was sent while the run waited, or before it was cut off. A commit that took messages in has seen whether more are there.
    if (isFirst) this.#hasMail ||= isNewRun !== true && result?.hasPending !== false;
    if (dispatch?.type === "ack" || dispatch?.type === "dead-letter") {
      this.settle();
      return undefined;
    }
    const isClaim = dispatch?.type === "enqueue-claimed";
    // A store freezes its row for whoever asks for it: once.
    const row = isClaim ? result?.dispatch : undefined;
    const isLost = isClaim && row === undefined;
    if (isLost || result === undefined) return this.#lookUp({ isClaim: isLost, placeOf: isOwn ? runId : undefined }, result);
    this.#goOn(row, result);
    return undefined;
  }

  #written(active: ActiveRun, run: ThreadCommit["run"], threadState = active.written?.threadState): void {
    active.begun();
    if (this.#isAwaited && run !== undefined) active.written = { run, threadState };
  }

  #goOn(row: DispatchRecord | undefined, result: CommitResult | undefined): void {
    if (row?.status === "claimed") this.#hold(row, this.#askedAt);
    if (result?.hasWishes === true) this.wanted();
  }

  assure(): Promise<void> | undefined {
    return this.#init.leases.assure(this);
  }

  get hasMail(): boolean {
    return this.#hasMail;
  }

  async waiting(at?: Boundary): Promise<readonly PendingRecord[]> {
    const run = this.#run;
    if (at === undefined) return run === undefined ? NOTHING : (await this.#queue(run)).entries;
    if (!this.#hasMail || run === undefined) return NOTHING;
    this.#hasMail = false;
    try {
      const { entries } = await this.#queue(run);
      const entering = selectPending(entries, at, run.runId);
      this.#hasMail = entries.some(({ deliveryMode: { boundary, targetRunId } }) => boundary !== "new-run" || targetRunId === run.runId);
      return entering;
    } catch (thrown) {
      this.#hasMail = true;
      this.#init.log.warn(`pending messages could not be read: ${errorMessage(thrown)}`, { runId: run.runId });
      return NOTHING;
    }
  }

  #queue({ threadId }: ActiveRun): Promise<PendingQueue> {
    return this.#init.ask("load pending messages", this.tenant.pending.load(threadId));
  }

  /** Messages may wait for the run: it looks at its next boundary. */
  mail(): void {
    this.#hasMail = true;
  }

  /** Somebody wants something of the run. Never rejects, and waits for nothing. */
  wanted(): void {
    if (this.#run !== undefined) this.#openWishes(NOTHING).look(this.#run);
  }

  get looking(): Promise<void> | undefined {
    return this.#wishes?.reading;
  }

  refuse(decisions: readonly string[]): void {
    this.#wishes?.refuse(decisions);
  }

  lost(why: string): void {
    this.#isSettled = true;
    this.#leave.close();
    this.#loss = new AwakenError("fence_lost", `the run was taken over by somebody else: ${why}`);
    this.#run?.controller.abort(this.#loss);
  }

  /** Nothing is held any more. */
  settle(): void {
    this.#isSettled = true;
    this.#leave.close();
    this.#init.leases.remove(this);
  }

  #hold(claimed: ClaimedDispatch, askedAt: number): void {
    this.#claimed = claimed;
    this.#leave.hold();
    this.#init.leases.add(this, askedAt);
  }

  #change(runId: RunId, isFirst: boolean, result: DispatchResult | undefined): DispatchChange | undefined {
    if (this.#claimed !== undefined) return result === undefined ? undefined : settlement(result, this.isFromQueue);
    // What begins and ends in one commit needs no hold: nobody can come between.
    if (!isFirst || result !== undefined || this.#run === undefined) return undefined;
    const { consumer, leaseMs, maxAttempts, clock } = this.#init;
    const { threadId } = this.#run;
    this.#askedAt = clock.now();
    return {
      type: "enqueue-claimed",
      dispatch: { dispatchId: this.#dispatchId, threadId, runId, maxAttempts },
      claim: { consumer, leaseMs },
    };
  }

  /** The answer to a commit was lost: what it would have said is asked for, and nobody else writes meanwhile. */
  async #lookUp({ isClaim, placeOf }: { isClaim: boolean; placeOf: RunId | undefined }, result: CommitResult | undefined): Promise<void> {
    const row = isClaim ? await this.#read("a dispatch", this.tenant.dispatches.load(this.#dispatchId)) : undefined;
    this.#goOn(row, result);
    // One that is not known is better than an old one: what lies behind that would be told twice.
    if (placeOf !== undefined && result === undefined) this.#place = (await this.#read("the end of a log", this.#endOf(placeOf)))?.cursor;
  }

  async #read<T>(what: string, asked: Promise<T>): Promise<T | undefined> {
    try {
      return await this.#init.ask(`load ${what}`, asked);
    } catch (thrown) {
      this.#init.log.warn(`${what} could not be read: ${errorMessage(thrown)}`, { dispatchId: this.#dispatchId });
      return undefined;
    }
  }
}

function leaveOf(init: HoldInit, opening: Opening | undefined): Leave {
  const { attemptCount, maxAttempts } = opening?.claimed ?? { attemptCount: 0, maxAttempts: init.maxAttempts };
  return new Leave(init, attemptCount + 1 < maxAttempts, opening === undefined);
}

/** A run that nobody waits for and that its model refused, for good or too often, is put before people as a dead letter. */
function settlement(result: DispatchResult, isFromQueue: boolean): DispatchChange {
  const termination = result.type === "done" ? result.termination : undefined;
  const isRefused = isFromQueue && termination?.type === "error" && termination.code?.startsWith("inference_") === true;
  return isRefused ? { type: "dead-letter", error: termination.message } : { type: "ack", result };
}
