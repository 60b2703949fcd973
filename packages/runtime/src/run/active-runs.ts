import {
  type AgentEvent,
  AwakenError,
  DEFAULT_SCOPE,
  type PersistedState,
  type RunId,
  type RunProjection,
  type ScopeId,
  type ThreadId,
} from "@awaken/contract";
import type { LoopOutcome } from "../loop/finish.ts";
import type { RunContext } from "../loop/run-context.ts";
import { HeardController } from "../stream/abort-source.ts";
import { Listeners } from "../stream/listeners.ts";
import { Inbox } from "./inbox.ts";

/** How a run is on record. */
export interface Written {
  readonly run: RunProjection;
  readonly threadState: PersistedState | undefined;
}

const NONE: readonly never[] = Object.freeze([]);

/** What controls a run from outside while it is active. */
export class ActiveRun {
  readonly scopeId: ScopeId;
  readonly threadId: ThreadId;
  readonly controller = new HeardController();
  readonly inbox: Inbox;
  readonly listeners = new Listeners<AgentEvent>();
  runId: RunId;
  /** What else it is known by: a claim may turn out to be for a run that exists. */
  #aliases: readonly RunId[] = NONE;
  /** Set once the run is under way. */
  result: Promise<LoopOutcome> | undefined;
  /** What its commits said last. Only of a run that another one waits for here. */
  written: Written | undefined;
  /** Runs of this process that it waits for. */
  below: Set<ActiveRun> | undefined;
  /** The ids of run and thread were made for it: as long as it has not begun, no record has them. */
  isNew = false;
  #ctx: RunContext | undefined;
  #isClosed = false;
  // Few runs need these, so they are made when they are needed.
  #prepared: PromiseWithResolvers<void> | undefined;
  #released: PromiseWithResolvers<void> | undefined;
  #recorded: PromiseWithResolvers<void> | undefined;
  #isRecorded = false;
  #onClosed: Set<() => void> | undefined;

  constructor(threadId: ThreadId, runId: RunId, scopeId: ScopeId = DEFAULT_SCOPE) {
    this.scopeId = scopeId;
    this.threadId = threadId;
    this.runId = runId;
    this.inbox = new Inbox(threadId);
  }

  /** Every id that it is known by. */
  get runIds(): readonly RunId[] {
    return [...this.#aliases, this.runId];
  }

  isKnownAs(id: string): boolean {
    return this.runId === id || this.#aliases.some((alias) => alias === id);
  }

  /** From here on it is known by this id, and by those that it had. */
  rename(runId: RunId): void {
    this.#aliases = [...this.#aliases, this.runId];
    this.runId = runId;
  }

  /** What it was set up as has not begun: nothing is decided there any more. */
  drop(): void {
    // Whoever waits for one that was never set up goes on waiting.
    if (this.#ctx === undefined) return;
    this.#ctx = undefined;
    this.#prepared = undefined;
  }

  /** It is to begin once more, under the id of its claim. */
  startOver(runId: RunId): void {
    this.drop();
    this.#aliases = NONE;
    this.runId = runId;
  }

  /** Resolves when the slot is free again; never rejects. */
  get released(): Promise<void> {
    this.#released ??= Promise.withResolvers<void>();
    if (this.#isClosed) this.#released.resolve();
    return this.#released.promise;
  }

  /** The loop's side of it, while it is there: where decisions are taken. */
  get ctx(): RunContext | undefined {
    return this.#ctx;
  }

  set ctx(ctx: RunContext) {
    this.#ctx = ctx;
    this.#prepared?.resolve();
  }

  /** Resolves when the run is set up, or gone; never rejects. */
  get prepared(): Promise<void> {
    this.#prepared ??= Promise.withResolvers<void>();
    if (this.#isClosed || this.#ctx !== undefined) this.#prepared.resolve();
    return this.#prepared.promise;
  }

  /** Resolves when the run is on record, or gone; never rejects. Only of runs that hold their thread. */
  get recorded(): Promise<void> {
    this.#recorded ??= Promise.withResolvers<void>();
    if (this.#isClosed || this.#isRecorded) this.#recorded.resolve();
    return this.#recorded.promise;
  }

  /** It is on record. */
  begun(): void {
    this.#isRecorded = true;
    this.#recorded?.resolve();
  }

  /** Calls back when nothing more is told of it, until what it gives is called. */
  onClosed(call: () => void): () => void {
    this.#onClosed ??= new Set();
    this.#onClosed.add(call);
    return () => void this.#onClosed?.delete(call);
  }

  cancel(why = "the run was cancelled"): void {
    this.controller.abort(new AwakenError("cancelled", why));
  }

  /** One of its own tools asked for it. */
  cancelItself(): void {
    this.cancel("the run cancelled itself");
  }

  /** Nothing reaches the run any more, and whoever waits for it goes on. */
  close(): void {
    this.inbox.close();
    // Whoever keeps the handle does not keep the run.
    this.#ctx = undefined;
    this.listeners.clear();
    this.#isClosed = true;
    this.#prepared?.resolve();
    this.#released?.resolve();
    this.#recorded?.resolve();
    for (const call of this.#onClosed ?? []) call();
  }
}

export type Found = { readonly type: "found"; readonly run: ActiveRun } | { readonly type: "none" } | { readonly type: "ambiguous" };

/** Is told of each run of this process. */
export interface RunAudience {
  began(run: ActiveRun): void;
  ended(run: ActiveRun): void;
}

/** The runs of a tenant. */
interface Slots {
  readonly byThread: Map<string, ActiveRun>;
  readonly byRun: Map<string, ActiveRun>;
}

/** The runs of all tenants. There is nothing in it for a tenant without an active run. */
interface Tenants {
  /** Who wants to know that a tenant has runs here, and has them no more. */
  audience: RunAudience | undefined;
  /** Who wants to know of runs that begin. */
  readonly ears: Set<(run: ActiveRun) => void>;
  /** An id as it is has its hash already: one that is put together with its tenant's is hashed by each look. */
  readonly slots: Map<ScopeId, Slots>;
}

/** The runs of this process that are of one tenant: at most one per thread and one per run id. */
export class ActiveRuns {
  readonly #scopeId: ScopeId;
  readonly #tenants: Tenants;

  constructor(scopeId: ScopeId = DEFAULT_SCOPE, tenants: Tenants = { audience: undefined, ears: new Set(), slots: new Map() }) {
    this.#scopeId = scopeId;
    this.#tenants = tenants;
  }

  /** Those of another tenant. */
  scoped(scopeId: ScopeId): ActiveRuns {
    return new ActiveRuns(scopeId, this.#tenants);
  }

  /** Of all tenants. */
  tell(audience: RunAudience): void {
    this.#tenants.audience = audience;
  }

  /** Of all tenants. */
  get size(): number {
    return this.all().length;
  }

  /** Of all tenants. */
  all(): readonly ActiveRun[] {
    return [...this.#tenants.slots.values()].flatMap(({ byThread }) => [...byThread.values()]);
  }

  /** Takes the thread, in one synchronous step. */
  claim(threadId: ThreadId, runId: RunId): ActiveRun {
    const own = this.#own ?? this.#open();
    if (own.byThread.has(threadId)) {
      throw new AwakenError("thread_already_running", `thread already has an active run: ${threadId}`, { details: { threadId } });
    }
    refuseActive(own, runId);
    const run = new ActiveRun(threadId, runId, this.#scopeId);
    own.byThread.set(threadId, run);
    own.byRun.set(runId, run);
    this.#tenants.audience?.began(run);
    for (const began of this.#tenants.ears) began(run);
    return run;
  }

  /** Calls back for each run of any tenant that begins here, before it says anything, until what it gives is called. */
  onBegin(began: (run: ActiveRun) => void): () => void {
    const { ears } = this.#tenants;
    ears.add(began);
    return () => void ears.delete(began);
  }

  /** The claim turned out to be for a run that exists already. The id of the claim stays an alias. */
  adopt(run: ActiveRun, runId: RunId): void {
    if (run.runId === runId) return;
    refuseActive(this.#own, runId);
    this.#own?.byRun.set(runId, run);
    run.rename(runId);
    for (const began of this.#tenants.ears) began(run);
  }

  /** It did not become the run that it was adopted for, and may come to be another one. */
  disown(run: ActiveRun, claimed: RunId): void {
    const own = this.#own;
    if (run.runId !== claimed && own?.byRun.get(run.runId) === run) own.byRun.delete(run.runId);
    run.startOver(claimed);
  }

  /** Frees what this very run holds: a late release cannot free a newer run. */
  release(run: ActiveRun): void {
    const { slots, audience } = this.#tenants;
    const own = this.#own;
    for (const id of run.runIds) if (own?.byRun.get(id) === run) own.byRun.delete(id);
    if (own?.byThread.get(run.threadId) === run) {
      own.byThread.delete(run.threadId);
      // The default tenant comes again.
      if (own.byThread.size === 0 && this.#scopeId !== DEFAULT_SCOPE) slots.delete(this.#scopeId);
      audience?.ended(run);
    }
    run.close();
  }

  onThread(threadId: string): ActiveRun | undefined {
    return this.#own?.byThread.get(threadId);
  }

  byRun(runId: string): ActiveRun | undefined {
    return this.#own?.byRun.get(runId);
  }

  /** By run id or thread id. One id that names two runs names none. */
  find(id: string): Found {
    const byRun = this.byRun(id);
    const onThread = this.onThread(id);
    if (byRun !== undefined && onThread !== undefined && byRun !== onThread) return { type: "ambiguous" };
    const run = byRun ?? onThread;
    return run === undefined ? { type: "none" } : { type: "found", run };
  }

  #open(): Slots {
    const own: Slots = { byThread: new Map(), byRun: new Map() };
    this.#tenants.slots.set(this.#scopeId, own);
    return own;
  }

  get #own(): Slots | undefined {
    return this.#tenants.slots.get(this.#scopeId);
  }
}

function refuseActive(slots: Slots | undefined, runId: RunId): void {
  if (slots?.byRun.has(runId) === true)
    throw new AwakenError("thread_already_running", `run is already active: ${runId}`, { details: { runId } });
}
