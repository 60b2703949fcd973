import { AwakenError, type RunId, type RunProjection, type ThreadId, runId as toRunId } from "@awaken/contract";
import { type DispatchRecord, MAX_COMMIT_ATTEMPTS, resumeKey } from "@awaken/contract/store";
import type { RunOrder } from "../loop/run-order.ts";
import type { ActiveRun } from "../run/active-runs.ts";
import { didNotStop, RELEASE_MS } from "../run/freed.ts";
import { RunBell } from "../run/run-bell.ts";
import { onAbort } from "../stream/abort.ts";
import { within } from "../stream/within.ts";
import { cancelElsewhere, wish } from "./control.ts";
import { inOne, type Ports } from "./in-one.ts";
import { wakeWaiting } from "./left-behind.ts";
import { openDispatches } from "./open-dispatches.ts";
import { supersede } from "./supersede-queued.ts";
import { isTaken, makeRoom, type Tenant } from "./tenant.ts";

/** What an interrupt did. */
export interface Interrupted {
  /** How many runs were queued, and are cancelled now. */
  readonly superseded: number;
  /** Whether a run was at work, and has ended. */
  readonly cancelled: boolean;
}

const WHY = "the run was interrupted";

/** Somebody has the thread. */
/** Somebody has the thread, or had it since it was read. */
const HELD: ReadonlySet<string> = new Set(["thread_already_running", "fence_lost", "message_version_conflict"]);

const isHeld = (thrown: unknown): boolean => AwakenError.is(thrown) && HELD.has(thrown.code);

/**
 * Somebody wants a thread for himself. What is at work there is told to stop, by a wish where another process has it, and its last commit
 * is waited for, so that what it said is kept; only then what is queued is voided, in the transaction that brings what comes instead.
 * Whoever begins on the thread meanwhile was faster, and is left alone.
 */
export class Interruption {
  readonly #tenant: Tenant;
  readonly #threadId: ThreadId;
  readonly #stop: AbortController;
  /** Runs that the last transaction ended. */
  #superseded: readonly RunProjection[] = [];
  readonly #until: number;
  /** Runs that were at work or queued when it began. */
  readonly #known: ReadonlySet<RunId>;
  /** Those of them that nobody had begun. */
  readonly #queued: ReadonlySet<RunId>;
  readonly #ended = new Set<RunId>();

  private constructor(tenant: Tenant, threadId: ThreadId, open: readonly DispatchRecord[], stop: AbortController) {
    const here = tenant.parts.active.onThread(threadId)?.runIds ?? [];
    this.#tenant = tenant;
    this.#threadId = threadId;
    this.#known = new Set<RunId>([...here, ...open.map(({ runId }) => runId)]);
    this.#queued = new Set<RunId>(open.flatMap(({ runId, status }) => (status === "queued" && !here.includes(runId) ? [runId] : [])));
    this.#stop = stop;
    this.#until = tenant.clock.now() + RELEASE_MS;
  }

  /**
   * Does all of it: `work` is the transaction, and is done again when a run that was queued was begun at that moment.
   * `storage_already_exists` when the run that is asked for is there already: who asks twice does not end his own run.
   */
  static async through<T>(
    tenant: Tenant,
    threadId: ThreadId,
    work: (interruption: Interruption) => Promise<T>,
    order?: Pick<RunOrder, "intent" | "signal">,
  ): Promise<T> {
    const { intent, signal } = order ?? {};
    const open = await openDispatches(tenant, threadId);
    const stop = new AbortController();
    const offs = [tenant.parts.closing, signal].map((each) => (each === undefined ? () => {} : onAbort(each, () => stop.abort())));
    const interruption = new Interruption(tenant, threadId, open, stop);
    try {
      if (intent?.type === "new" && intent.runId !== undefined) interruption.#refuse(intent.runId);
      for (let attempt = 1; ; attempt++) {
        await interruption.#vacate();
        try {
          const done = await work(interruption);
          for (const run of interruption.#superseded) tenant.watchers.ended(run, "superseded");
          return done;
        } catch (thrown) {
          if (!isHeld(thrown) || attempt === MAX_COMMIT_ATTEMPTS) throw thrown;
        }
      }
    } finally {
      for (const off of offs) off();
    }
  }

  /** Whether something was at work. */
  get hasEnded(): boolean {
    return [...this.#ended].some((id) => !this.#queued.has(id));
  }

  /** Runs that were queued, and that somebody began when what was before them ended: they were told to stop too. */
  get begunMeanwhile(): number {
    return [...this.#ended].filter((id) => this.#queued.has(id)).length;
  }

  /** Voids what is queued, before the run that comes instead: that one has the thread. `thread_already_running` when somebody has it after all. */
  async apply(ports: Ports, messages: "stay" | "are-taken-back", at = this.#tenant.clock.now()): Promise<number> {
    const [held] = await ports.dispatches.list(this.#threadId, { statuses: ["claimed"], limit: 1 });
    if (held?.status === "claimed") throw isTaken(this.#threadId, held.claimedBy);
    const { count, ended } = await supersede(ports, this.#threadId, messages, at);
    this.#superseded = ended;
    return count;
  }

  #refuse(asked: RunId): void {
    if (!this.#known.has(asked)) return;
    throw new AwakenError("storage_already_exists", `run '${asked}' is at work or queued already`, { details: { runId: asked } });
  }

  async #vacate(): Promise<void> {
    const { parts } = this.#tenant;
    for (;;) {
      if (this.#stop.signal.aborted) throw new AwakenError("cancelled", "nobody waits for the thread any more");
      const here = parts.active.onThread(this.#threadId);
      if (here !== undefined) await this.#endHere(here);
      else {
        const held = await this.#holder();
        if (held !== undefined) await this.#endThere(held);
        else if (await this.#areOver()) return;
      }
    }
  }

  async #holder() {
    const { queue, ask } = this.#tenant;
    const [row] = await ask("list dispatches", queue.dispatches.list(this.#threadId, { statuses: ["claimed"], limit: 1 }));
    return row?.status === "claimed" ? row : undefined;
  }

  #left(): number {
    const left = this.#until - this.#tenant.clock.now();
    if (left <= 0) throw didNotStop(this.#threadId);
    return left;
  }

  async #endHere(run: ActiveRun): Promise<void> {
    if (!run.runIds.some((id) => this.#known.has(id))) throw isTaken(this.#threadId, this.#tenant.node.name);
    const left = this.#left();
    this.#ended.add(run.runId);
    run.cancel(WHY);
    await within(this.#tenant, run.released, left, this.#stop.signal);
  }

  /** Of the run itself, or of what follows when it ends. */
  #isKnown({ runId, dedupeKey }: DispatchRecord): boolean {
    return this.#known.has(runId) || [...this.#known].some((id) => dedupeKey === resumeKey(id));
  }

  async #endThere(held: DispatchRecord & { readonly claimedBy: string; readonly leaseUntil: number }): Promise<void> {
    const { parts, clock, node } = this.#tenant;
    const { runId, claimedBy } = held;
    if (!this.#isKnown(held)) throw isTaken(this.#threadId, claimedBy);
    // By this clock; the store may know better, and then the owner is told.
    const isOver = node.isGone(claimedBy) || held.leaseUntil < clock.now();
    if (isOver && (await makeRoom(this.#tenant, this.#threadId).then(() => true, ifTaken))) {
      this.#ended.add(runId);
      return;
    }
    using bell = new RunBell(parts.live, runId);
    // It may have left before somebody listened.
    if ((await this.#holder())?.dispatchId !== held.dispatchId) return;
    await this.#tell(runId);
    await bell.wait(clock, this.#left(), this.#stop.signal);
  }

  /** Once. A run that has no record yet is told when it has, which rings. */
  async #tell(runId: RunId): Promise<void> {
    if (this.#ended.has(runId)) return;
    const { ids } = this.#tenant;
    try {
      await wish(this.#tenant, [{ type: "cancel", wishId: ids(), threadId: this.#threadId, runId, reason: WHY }]);
      this.#ended.add(runId);
    } catch (thrown) {
      if (!AwakenError.is(thrown) || (thrown.code !== "run_not_found" && thrown.code !== "illegal_transition")) throw thrown;
    }
  }

  /** A run that was told to stop as it parked waits now, and is ended here. */
  async #areOver(): Promise<boolean> {
    const { queue, ask } = this.#tenant;
    for (const id of this.#ended) {
      const run = await ask("load a run", queue.runs.load(id));
      if (run?.status !== "waiting") continue;
      this.#left();
      await cancelElsewhere(this.#tenant, id);
      return false;
    }
    return true;
  }
}

function ifTaken(thrown: unknown): false {
  if (AwakenError.is(thrown) && thrown.code === "thread_already_running") return false;
  throw thrown;
}

/**
 * Ends what is at work on the thread, waits for its last commit so that what it said is kept, and only then voids what is queued there.
 * `thread_not_found` when there was neither: then nothing has changed.
 */
export function interrupt(tenant: Tenant, threadId: ThreadId): Promise<Interrupted> {
  return Interruption.through(tenant, threadId, (interruption) =>
    inOne(tenant, "interrupt a thread", async (ports) => {
      const superseded = (await interruption.apply(ports, "are-taken-back")) + interruption.begunMeanwhile;
      if (superseded === 0 && !interruption.hasEnded) {
        throw new AwakenError("thread_not_found", `nothing to interrupt on thread '${threadId}'`, { details: { threadId } });
      }
      // Whoever begins on the thread at this moment writes it too: one of the two is refused, and looks again.
      await ports.commit({ threadId, runId: toRunId(tenant.ids()) });
      await wakeWaiting(tenant, ports, threadId);
      return { superseded, cancelled: interruption.hasEnded };
    }),
  );
}
