import { AwakenError, DEFAULT_SCOPE, errorMessage, type RunId, type ScopeId } from "@awaken/contract";
import type { ClaimedDispatch, Retention, ScopedHint } from "@awaken/contract/store";
import type { Holds } from "../run/holds.ts";
import type { RunParts } from "../run/run-parts.ts";
import { keyIn } from "../stream/scope-key.ts";
import { askWithin } from "./ask-within.ts";
import { type Failure, judgeFailure, Unknowns } from "./attempts.ts";
import { cancelByWish, decideElsewhere, keepDecisions, stopAbandoned } from "./control.ts";
import { endingOf } from "./end-record.ts";
import { executeDispatch, keepCancel } from "./execute.ts";
import { Hold, type HoldInit } from "./hold.ts";
import { queueBehind } from "./late-wake.ts";
import { Leases } from "./leases.ts";
import { isPast, type YieldBefore } from "./leave.ts";
import { loadAll } from "./load-all.ts";
import type { NodeIdentity } from "./node.ts";
import { Places } from "./places.ts";
import { type QueueVerbs, queueVerbs } from "./queue-verbs.ts";
import { settleFailure } from "./settle-failure.ts";
import { startOrder } from "./submit.ts";
import { Sweeper } from "./sweeper.ts";
import { postAgentMessage, postTask } from "./task-post.ts";
import { beginningOn, giveBackUnknown, makeRoom, type Tenant, takeBack, untilTurn } from "./tenant.ts";
import type { QueueOfAll } from "./tenant-queue.ts";
import { Turns } from "./turns.ts";
import { findUnbegun } from "./unbegun.ts";
import { type QueueWatcher, Watchers } from "./watchers.ts";
import { Worker } from "./worker.ts";

export interface MailboxInit {
  readonly store: QueueOfAll;
  /** Of the default tenant. Asked for when something is to be done: parts and mailbox know each other. */
  readonly parts: () => RunParts;
  readonly node: NodeIdentity;
  readonly leaseMs: number;
  readonly maxAttempts: number;
  readonly concurrency: number;
  /** False: what waits in the queue is left to other processes. `stays`: the same as true, and the process does not end for lack of work. */
  readonly workers: boolean | "stays";
  /** How long what is over stays; undefined: nothing is deleted. */
  readonly retention: Retention | undefined;
  /** When what is at work here has to be with others. */
  readonly yieldBefore: YieldBefore | undefined;
}

const LOOK_MS = 30_000;
/** When the runtime is closed: how long runs from the queue have to come to their next step. */
const DRAIN_MS = 30_000;
/** After a store that failed: how long until it is asked again. */
const AGAIN_MS = 1_000;
/** How often it is looked whether runs have left. */
const LEFT_MS = 25;

/** The queue of one process: it holds threads for the runs that are executed here, and takes up what waits. */
export class Mailbox {
  readonly #init: MailboxInit;
  readonly #closing = new AbortController();
  readonly #sweeper: Sweeper;
  readonly #watchers = new Watchers();
  readonly #turns = new Turns();
  readonly #unknowns = new Unknowns();
  readonly #places: Places;
  #leases: Leases | undefined;
  #worker: Worker | undefined;
  #isListening = false;

  constructor(init: MailboxInit) {
    this.#init = init;
    const { store, retention, node } = init;
    this.#places = new Places(node.trail);
    this.#sweeper = new Sweeper({ store, retention, tenantOf: (scopeId) => this.tenant(scopeId) });
  }

  get hasWorkers(): boolean {
    return this.#init.workers !== false;
  }

  /** Tells it what the queue does, until what this gives is called. */
  watch(watcher: QueueWatcher): () => void {
    return this.#watchers.add(watcher);
  }

  /** Begins to take up what waits, unless workers are off. */
  start(): void {
    if (!this.hasWorkers || this.#worker !== undefined || this.#closing.signal.aborted) return;
    this.#listen();
    this.#worker = this.#openWorker();
    this.#worker.start();
    void loadAll(this.#closing.signal);
  }

  /** Takes back what processes that are gone have left, now and here; workers do so by themselves. */
  async recover(): Promise<void> {
    const worker = this.#worker ?? this.#openWorker();
    await worker.look();
    await this.#sweeper.mend();
    worker.ring();
  }

  /** Messages wait for a run, if it is executed here. */
  mail(scopeId: ScopeId, runId: RunId): void {
    for (const hold of this.#holds().filter((each) => each.isOf(scopeId, runId))) hold.mail();
  }

  /** Whether a worker of this process has taken the run out of the queue. */
  isTakenUp(scopeId: ScopeId, id: string): boolean {
    const run = this.tenant(scopeId).parts.active.byRun(id);
    return run !== undefined && this.#holds().some((hold) => hold.isFromQueue && hold.isOf(scopeId, run.runId));
  }

  #holds(): readonly Hold[] {
    return (this.#leases?.all() ?? []).flatMap((lease) => (lease instanceof Hold ? [lease] : []));
  }

  holdsOf(scopeId: ScopeId): Holds {
    // One for all runs of the tenant: a hold with its own is 0.3 KiB more.
    let holdInit: HoldInit | undefined;
    return {
      open: (run, given, isAwaited) => {
        holdInit ??= this.tenant(scopeId).holdInit;
        const hold = given instanceof Hold ? given : new Hold(holdInit);
        hold.bind(run, isAwaited);
        this.#listen();
        return hold;
      },
      leave: (holding) =>
        holding instanceof Hold && holding.isHeld && !holding.isFromQueue ? this.#giveBack(holding, scopeId) : undefined,
      expect: ({ threadId }) => this.#worker?.expect({ scopeId, threadId }) ?? (() => {}),
      expectWithin: (run) =>
        this.#places.isWithin({ scopeId, ...run }) ? this.#worker?.expect({ scopeId, threadId: run.threadId }) : undefined,
      release: async (run) => {
        for (const hold of this.#holds().filter((each) => each.isOf(scopeId, run.runId))) await this.#release(hold);
      },
      submit: async (order) => {
        const { intent, threadId } = order;
        if (intent.type === "resume") await queueBehind(this.tenant(scopeId), { runId: intent.runId, threadId });
        else await startOrder(this.tenant(scopeId), order, { onBusy: "queue" });
      },
      post: async (threadId, event, of) => {
        const reader = await postTask(this.tenant(scopeId), threadId, event, of);
        if (typeof reader === "string") this.mail(scopeId, reader);
        return reader !== false;
      },
      message: (request) => postAgentMessage(this.tenant(scopeId), request),
      isHeld: async (run) => {
        const held = this.#holds().filter((each) => each.isOf(scopeId, run.runId));
        for (const hold of held) {
          if ((await this.#leases?.check(hold)) === false)
            throw new AwakenError("storage_io", `the store does not say who has run '${run.runId}'`, { details: { runId: run.runId } });
        }
        return held.some((hold) => hold.isHeld);
      },
      cancel: (run) => cancelByWish(this.tenant(scopeId), run),
      decide: (run, decisions) => decideElsewhere(this.tenant(scopeId), run, decisions),
      keep: async (run, decisions) => {
        if (!(await keepDecisions(this.tenant(scopeId), run, decisions))) return false;
        for (const hold of this.#holds().filter((each) => each.isOf(scopeId, run.runId))) {
          hold.wanted();
          await hold.looking;
        }
        return true;
      },
      endingOf: (run) => endingOf(this.tenant(scopeId), run),
      unbegun: (runId) => findUnbegun(this.tenant(scopeId), runId),
      makeRoom: (threadId) => makeRoom(this.tenant(scopeId), threadId),
    };
  }

  verbs(scopeId: ScopeId): QueueVerbs {
    return queueVerbs(this.tenant(scopeId), (runId) => this.mail(scopeId, runId));
  }

  /** Made when it is asked for: nothing of a tenant stays here. */
  tenant(scopeId: ScopeId): Tenant {
    const { store, parts, node, leaseMs, maxAttempts, yieldBefore } = this.#init;
    const own = scopeId === DEFAULT_SCOPE ? parts() : parts().scoped(scopeId);
    const queue = scopeId === DEFAULT_SCOPE ? store : store.scoped(scopeId);
    const { clock, log, ids, bounds } = own;
    const watchers = this.#watchers;
    const unknowns = this.#unknowns;
    const ask = watchers.timed(askWithin(bounds), clock);
    const leases = this.#leasesWith(own);
    const { hasWorkers } = this;
    const held = { tenant: queue, consumer: node.name, leaseMs, maxAttempts, leases, hasWorkers };
    const stop = (id: RunId) => stopAbandoned(this.tenant(scopeId), id);
    const holdInit = { ...held, clock, yieldBefore, log, ask, watchers, stop };
    const of = (other: ScopeId) => this.tenant(other);
    const inTurn: Tenant["inTurn"] = (threadId, work, signal) =>
      this.#turns.take(keyIn(scopeId, threadId), work, (turn) => untilTurn(own, turn, signal));
    return { queue, all: store.queue, of, parts: own, holdInit, node, ask, clock, log, ids, maxAttempts, watchers, unknowns, inTurn };
  }

  /**
   * Nothing is claimed any more. What came from the queue leaves at its next step; what does not come to one in a while is given back as it
   * is on record. Neither costs an attempt.
   */
  async close(handsOver = false, graceMs = 0): Promise<void> {
    const { clock } = this.#init.parts();
    const worker = this.#worker;
    const stopped = worker?.stop();
    const swept = this.#sweeper.close();
    if (handsOver && graceMs > 0) await this.#letGo(graceMs);
    // What such a run has said since its last commit is said again by whoever goes on with it.
    const beside = handsOver ? this.#holds().filter(({ isFromQueue }) => !isFromQueue) : [];
    for (const hold of beside) await this.#release(hold);
    if (worker !== undefined) {
      for (const hold of this.#holds().filter(({ isFromQueue }) => isFromQueue)) hold.askToLeave();
      const { promise, resolve } = Promise.withResolvers<void>();
      const stopTimer = clock.timer(DRAIN_MS, resolve);
      void worker.idle.then(resolve);
      await promise;
      stopTimer();
      for (const hold of this.#holds().filter(({ isFromQueue }) => isFromQueue)) await this.#release(hold);
    }
    this.#closing.abort();
    this.#leases?.close();
    await stopped;
    await swept;
  }

  /** Until the runs that nobody queued have left at their next step, or the time is over. */
  async #letGo(graceMs: number): Promise<void> {
    const { clock } = this.#init.parts();
    const until = clock.now() + graceMs;
    for (;;) {
      const left = this.#holds().filter(({ isFromQueue }) => !isFromQueue);
      for (const hold of left) hold.askToLeave();
      if (left.length === 0 || clock.now() >= until) return;
      await new Promise<void>((resolve) => void clock.timer(LEFT_MS, resolve));
    }
  }

  async #release(hold: Hold): Promise<void> {
    const { log } = this.#init.parts();
    await hold.release().catch((thrown: unknown) => log.warn(`a run could not be given back: ${errorMessage(thrown)}`));
  }

  #leasesWith({ clock, log, bounds }: RunParts): Leases {
    this.#leases ??= new Leases({ leaseMs: this.#init.leaseMs, clock, log, ask: this.#watchers.timed(askWithin(bounds), clock) });
    return this.#leases;
  }

  #openWorker(): Worker {
    const { store, node, concurrency, leaseMs, workers, yieldBefore } = this.#init;
    const { ask, clock, log } = this.tenant(DEFAULT_SCOPE);
    const timer = workers === "stays" ? clock.timer : (clock.idleTimer ?? clock.timer);
    return new Worker({
      queue: store.queue,
      tenantOf: (scopeId) => this.tenant(scopeId).queue,
      execute: (scopeId, claimed, askedAt) =>
        this.#places.within({ scopeId, threadId: claimed.dispatch.threadId }, () =>
          executeDispatch(this.tenant(scopeId), claimed, askedAt),
        ),
      onLook: () => this.#sweeper.tick(),
      takeBack: (gone) => takeBack(this.tenant(DEFAULT_SCOPE), gone),
      beginning: ({ scopeId, threadId }) => beginningOn(this.tenant(scopeId), threadId),
      giveBack: ({ scopeId, threadId }) => giveBackUnknown(this.tenant(scopeId), threadId),
      claim: { consumer: node.name, leaseMs },
      concurrency,
      isOver: () => isPast(yieldBefore, clock.now()),
      lookMs: Math.min(LOOK_MS, leaseMs),
      node,
      clock,
      timer: (ms, fire) => timer.call(clock, ms, fire),
      log,
      ask,
    });
  }

  /** What a run could not settle itself: its last commit failed, or it never came to one. */
  async #giveBack(hold: Hold, scopeId: ScopeId): Promise<void> {
    const { claimed } = hold;
    if (claimed === undefined) return;
    const isDue = hold.wayOut?.isDue === true;
    hold.settle();
    const failure: Failure = isDue ? { type: "hand-over" } : { type: "retry", error: "the run was left without an end" };
    // Somebody may tell it to stop as long as it is not given back.
    const settle = () => this.#settle(claimed, failure, scopeId, hold.isCancelled);
    if (!(await settle())) void this.#settleLater(settle, scopeId);
  }

  /** The store may be back before the lease is over: then nobody has to wait for that. */
  async #settleLater(settle: () => Promise<boolean>, scopeId: ScopeId): Promise<void> {
    const { clock } = this.tenant(scopeId);
    const until = clock.now() + this.#init.leaseMs;
    do {
      await new Promise<void>((resolve) => void (clock.idleTimer ?? clock.timer).call(clock, AGAIN_MS, resolve));
    } while (clock.now() < until && !this.#closing.signal.aborted && !(await settle()));
  }

  /** False: the store did not take it. */
  async #settle(claimed: ClaimedDispatch, failure: Failure, scopeId: ScopeId, isCancelled: boolean): Promise<boolean> {
    const tenant = this.tenant(scopeId);
    try {
      if (isCancelled) await keepCancel(tenant, claimed);
      await settleFailure(tenant, claimed, failure);
      return true;
    } catch (thrown) {
      if (judgeFailure(thrown).type === "lost") return true;
      // Its lease ends by itself.
      tenant.log.warn(`a thread could not be given back: ${errorMessage(thrown)}`, { dispatchId: claimed.dispatchId });
      return false;
    }
  }

  #listen(): void {
    if (this.#isListening || this.#closing.signal.aborted) return;
    this.#isListening = true;
    void this.#hear();
  }

  async #hear(): Promise<void> {
    const { store } = this.#init;
    try {
      for await (const hint of store.queue.hints({ signal: this.#closing.signal })) this.#take(hint);
    } catch (thrown) {
      if (!this.#closing.signal.aborted) this.#init.parts().log.warn(`nobody hears of work any more: ${errorMessage(thrown)}`);
    }
    this.#isListening = false;
  }

  #take(hint: ScopedHint): void {
    if (hint.type === "enqueued") {
      this.#worker?.ring(hint);
      // What is queued there may have come with news for the run that is at work.
      for (const hold of this.#holds()) if (hold.isOn(hint.scopeId, hint.threadId)) hold.mail();
      return;
    }
    for (const hold of this.#holds().filter((each) => each.isOf(hint.scopeId, hint.runId))) {
      hold.mail();
      hold.wanted();
    }
  }
}
