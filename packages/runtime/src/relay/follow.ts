import type { AgentEvent, Ticket } from "@awaken/contract";
import type { ToldRun } from "../loop/finish.ts";
import type { ActiveRun } from "../run/active-runs.ts";
import { ticketsBelow } from "../run/tickets-below.ts";
import type { AttachedEvent, AttachOptions } from "./attached-event.ts";
import { ASK_AGAIN_MS, type Exchange } from "./exchange.ts";
import { isPassing, type PassingEvent } from "./live-event.ts";
import { LogReader } from "./read-log.ts";
import { Rebuild } from "./rebuild.ts";
import type { Relay } from "./relay.ts";
import { findTarget, readCursor, type Start, startNow, type Target, writeCursor } from "./target.ts";

/** For a store that wakes nobody. */
const POLL_MS = 500;
const MAX_PASSING = 256;

type Batch = readonly AttachedEvent[];

interface Following {
  readonly relay: Relay;
  readonly exchange: Exchange;
}

/** What somebody follows who is no reader of his own: he heard of the run while it was executed here. */
export interface FollowOptions extends AttachOptions {
  /** What he was told already. */
  readonly told?: ToldRun | undefined;
  /** Aborted: what is on record by then is told, and nothing more is waited for. */
  readonly enough?: AbortSignal | undefined;
}

/** What is on record, then what happens, until the run is over or the reader leaves: what is there at one moment comes together. */
export async function* follow(
  { relay, exchange }: Following,
  id: string,
  options: FollowOptions,
  leaving: AbortSignal,
): AsyncGenerator<Batch, void, undefined> {
  const after = options.after === undefined ? undefined : readCursor(options.after);
  const target = await findTarget(relay, id);
  const from = after ?? (options.from === "now" ? await startNow(relay, target) : undefined);
  const signals = [leaving, relay.closing, ...(options.signal === undefined ? [] : [options.signal])];
  const reader = new Reader({ relay, exchange }, target, { from, told: options.told, enough: options.enough }, signals);
  try {
    yield* reader.read(options.onCaughtUp);
  } finally {
    reader.close();
  }
}

/** Where a reader begins, and how it ends. */
interface Reading extends Pick<FollowOptions, "told" | "enough"> {
  readonly from: Start | undefined;
}

class Reader {
  readonly #exchange: Exchange;
  readonly #relay: Relay;
  readonly #target: Target;
  readonly #signals: readonly AbortSignal[];
  readonly #log: LogReader;
  readonly #rebuild: Rebuild;
  readonly #isFresh: boolean;
  readonly #enough: AbortSignal | undefined;
  /** Up to what is told already, the log is only read. */
  #told: ToldRun | undefined;
  readonly #leave: (() => void)[] = [];
  /** What came and was not shown; a reader that is too slow for it loses it, and goes on from the log. */
  #passing: PassingEvent[] = [];
  #local: { readonly run: ActiveRun; readonly leave: () => void } | undefined;
  /** Something may be in the log that was not read. */
  #isLogRung = true;
  #isRung = false;
  #wake: (() => void) | undefined;
  #stopTimer: (() => void) | undefined;
  /** The step that the log was read for. */
  #readFor: string | undefined;

  constructor({ relay, exchange }: Following, target: Target, { from, told, enough }: Reading, signals: readonly AbortSignal[]) {
    const { threadId, scope, openRunId, writtenAt } = target;
    this.#exchange = exchange;
    this.#relay = relay;
    this.#target = target;
    this.#signals = signals;
    this.#isFresh = from === undefined && told === undefined;
    this.#told = told;
    this.#enough = enough;
    this.#log = new LogReader(relay.store, { threadId, scope, after: from?.cursor, cutAt: told?.place });
    this.#rebuild = new Rebuild((step) => this.#takePassing((each) => each.step === step));
    if (from !== undefined) this.#rebuild.restore(openRunId, from.position, writtenAt);
    const ring = () => this.#ring();
    const heard = enough === undefined ? signals : [...signals, enough];
    for (const signal of heard) signal.addEventListener("abort", ring);
    const leaveLog = relay.store.live?.follow(scope, () => {
      this.#isLogRung = true;
      ring();
    });
    const leaveThread = exchange.follow(threadId, { changed: (passing) => this.#hear(passing) });
    this.#leave.push(
      leaveThread,
      () => leaveLog?.(),
      () => {
        for (const signal of heard) signal.removeEventListener("abort", ring);
      },
    );
  }

  get #isOver(): boolean {
    return this.#signals.some((signal) => signal.aborted);
  }

  async *read(onCaughtUp?: () => void): AsyncGenerator<Batch, void, undefined> {
    for (let isFirst = true; !this.#isOver; isFirst = false) {
      this.#listen();
      const isLast = this.#enough?.aborted === true;
      if (isLast) this.#isLogRung = true;
      // Before the log is read: what was committed before this moment is found there, and so it is known whether the step still counts.
      const live = this.#exchange.current(this.#target.threadId);
      if (live !== undefined && !this.#rebuild.isShowing(live.soFar.start.messageId) && this.#readFor !== live.soFar.start.messageId) {
        this.#readFor = live.soFar.start.messageId;
        this.#isLogRung = true;
      }
      if (this.#isLogRung) {
        this.#isLogRung = false;
        // Before the log is read, too: a ticket that is on record by then is told there, and one that comes meanwhile will be.
        const open = isFirst && this.#isFresh ? await this.#openTickets() : [];
        yield* this.#readLog();
        if (open.length > 0) yield await this.#tellTickets(open);
        if (await this.#isRunOver()) return;
      }
      if (live !== undefined) {
        const shown = this.#rebuild.show(live);
        if (shown.length > 0) yield shown;
      }
      const passing = this.#takePassing(() => true);
      if (passing.length > 0) yield passing;
      if (isFirst) onCaughtUp?.();
      if (isLast) return;
      await this.#wait();
    }
  }

  close(): void {
    this.#stopTimer?.();
    this.#local?.leave();
    for (const leave of this.#leave.splice(0)) leave();
  }

  async *#readLog(): AsyncGenerator<Batch, void, undefined> {
    for await (const commit of this.#log.read()) {
      if (this.#isOver) return;
      const events: AttachedEvent[] = [...this.#rebuild.commit(commit)];
      if (this.#told !== undefined) {
        if (commit.cursor === this.#told.place) this.#goOn(this.#told);
        continue;
      }
      const { position } = this.#rebuild;
      const last = events.at(-1);
      if (last === undefined) continue;
      if (position !== undefined) events[events.length - 1] = { ...last, cursor: writeCursor(commit.cursor, position) };
      yield events;
    }
    if (this.#told !== undefined) this.#goOn(this.#told);
  }

  /** From here on it is told; of the step that is not on record, the reader knows what he heard. */
  #goOn({ runId, step }: ToldRun): void {
    this.#told = undefined;
    // Whatever the record says by now: he did hear it.
    if (step !== undefined) this.#rebuild.show({ runId, writtenAt: Number.POSITIVE_INFINITY, soFar: step });
  }

  async #openTickets(): Promise<readonly Ticket[]> {
    const { openRunId } = this.#target;
    const run = openRunId === undefined ? undefined : await this.#relay.store.runs.load(openRunId);
    return run === undefined || run.status === "done" ? [] : ticketsBelow(this.#relay.store, run);
  }

  /** Those that are still open, also when the events that told of them are gone. */
  async #tellTickets(before: readonly Ticket[]): Promise<Batch> {
    const unknown = this.#rebuild.unknownTickets(before);
    if (unknown.length === 0) return [];
    const still = new Set((await this.#openTickets()).map(({ id }) => id));
    return unknown.flatMap((ticket) => (still.has(ticket.id) ? [{ type: "ticket-open" as const, ticket }] : []));
  }

  /** A run that is followed alone is over when its record says so, whatever became of its last event. */
  async #isRunOver(): Promise<boolean> {
    const { runId } = this.#target;
    if (runId === undefined) return false;
    if (this.#rebuild.isDone) return true;
    if (this.#rebuild.run !== undefined) return false;
    // One that was refused before it was on record never ends: it is gone.
    const status = (await this.#relay.store.runs.load(runId))?.status ?? (this.#local === undefined ? "done" : "created");
    return status === "done" && !this.#isLogRung;
  }

  /** Hears what the run of this process says, if there is one. */
  #listen(): void {
    const run = this.#relay.localRun(this.#target.threadId);
    if (run === this.#local?.run) return;
    this.#local?.leave();
    this.#local = undefined;
    if (run === undefined) return;
    const leave = run.listeners.add((event) => {
      this.#hear(isPassing(event) ? [{ step: run.ctx?.progress.step ?? 0, event }] : []);
    });
    this.#local = { run, leave };
  }

  #hear(passing: readonly PassingEvent[]): void {
    if (this.#passing.length + passing.length > MAX_PASSING) this.#passing = [];
    this.#passing.push(...passing);
    this.#ring();
  }

  /** What may be told now; what is of a step that is over is not told any more. */
  #takePassing(isWanted: (passing: PassingEvent) => boolean): readonly AgentEvent[] {
    if (this.#passing.length === 0) return [];
    const [told, kept]: [AgentEvent[], PassingEvent[]] = [[], []];
    for (const passing of this.#passing) {
      const { step, event } = passing;
      const place = this.#rebuild.placeOf(step, event);
      if (place === "ahead" || !isWanted(passing)) kept.push(passing);
      else if (place === "here") told.push(event);
    }
    this.#passing = kept;
    return told;
  }

  #ring(): void {
    this.#isRung = true;
    this.#wake?.();
  }

  async #wait(): Promise<void> {
    this.#watch();
    if (!this.#isRung && !this.#isOver) {
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
    this.#isRung = false;
  }

  /**
   * As long as another process executes a run, it is asked to tell of it, and the log is looked at by the way: a notice may have been
   * lost with its process. While nothing is under way, nobody looks.
   */
  #watch(): void {
    const { threadId } = this.#target;
    const isPolling = this.#relay.store.live === undefined;
    const isElsewhere = this.#rebuild.run !== undefined && this.#local === undefined;
    if (!isPolling && !isElsewhere) {
      this.#stopTimer?.();
      this.#stopTimer = undefined;
      return;
    }
    if (this.#stopTimer !== undefined) return;
    if (isElsewhere) this.#exchange.ask(threadId);
    this.#stopTimer = this.#relay.clock.timer(isPolling ? POLL_MS : ASK_AGAIN_MS, () => {
      this.#stopTimer = undefined;
      this.#isLogRung = true;
      this.#ring();
    });
  }
}
