import {
  type AgentEvent,
  AwakenError,
  describeType,
  type RunId,
  type ThreadId,
  type Ticket,
  runId as toRunId,
  threadId as toThreadId,
} from "@awaken/contract";
import { type EventCursor, type EventScope, eventCursor } from "@awaken/contract/store";
import type { ActiveRun } from "../run/active-runs.ts";
import { ticketsBelow } from "../run/tickets-below.ts";
import type { AttachedEvent, AttachOptions } from "./attached-event.ts";
import { ASK_AGAIN_MS, type Exchange } from "./exchange.ts";
import { isPassing, type PassingEvent } from "./live-event.ts";
import { LogReader } from "./read-log.ts";
import { type Position, Rebuild } from "./rebuild.ts";
import type { Relay } from "./relay.ts";

interface Target {
  readonly threadId: ThreadId;
  readonly scope: EventScope;
  readonly runId: RunId | undefined;
  /** The run that is not over. */
  readonly openRunId: RunId | undefined;
  /** When that of the thread was written last. */
  readonly writtenAt: number;
}

/** For a store that wakes nobody. */
const POLL_MS = 500;
const MAX_PASSING = 256;

/** The log's own cursor, and behind it how far the reader is in the run. */
function writeCursor(cursor: EventCursor, position: Position): string {
  if (position.type === "none") return cursor;
  if (position.type === "waiting") return `${cursor}~${position.step}w`;
  return `${cursor}~${position.step}${position.pending === undefined ? "" : `.${position.pending}`}`;
}

const PLACE = /^(.*)~(\d{1,9})(?:(w)|\.(\d{1,9}))?$/s;

interface Start {
  readonly cursor: EventCursor;
  readonly position: Position;
}

function readCursor(after: string): Start {
  const [, cursor, digits, waits, pending] = PLACE.exec(after) ?? [];
  if (cursor === undefined) return { cursor: eventCursor(after), position: { type: "none" } };
  const step = Number(digits);
  if (waits !== undefined) return { cursor: eventCursor(cursor), position: { type: "waiting", step } };
  return { cursor: eventCursor(cursor), position: { type: "running", step, pending: pending === undefined ? undefined : Number(pending) } };
}

const notFound = (id: string) => new AwakenError("run_not_found", `no run and no thread has the id '${id}'`, { details: { id } });

/** One that has begun here and is not on record yet. */
function newRun(relay: Relay, id: string): Target | undefined {
  const found = relay.find(id);
  if (found.type !== "found") return undefined;
  const { threadId, runId } = found.run;
  return id === threadId
    ? { threadId, scope: { type: "thread", threadId }, runId: undefined, openRunId: runId, writtenAt: 0 }
    : { threadId, scope: { type: "run", runId }, runId, openRunId: runId, writtenAt: 0 };
}

async function findTarget(relay: Relay, id: string): Promise<Target> {
  const { store } = relay;
  if (typeof id !== "string") throw new AwakenError("invalid_id", `the id of a run or thread must be a string, got ${describeType(id)}`);
  if (id.trim() === "") throw notFound(id);
  // Before the records are read: it may be on record, over and gone from here when they have been.
  const begun = newRun(relay, id);
  const [run, thread] = await Promise.all([store.runs.load(toRunId(id)), store.threads.load(toThreadId(id))]);
  if (run !== undefined && thread !== undefined && run.threadId !== thread.id) {
    throw new AwakenError("ambiguous_id", `'${id}' is the id of a run and that of another thread`, { details: { id } });
  }
  if (thread !== undefined) {
    const { id: threadId, openRunId, latestRun } = thread;
    const writtenAt = latestRun !== undefined && latestRun.id === openRunId ? latestRun.updatedAt : 0;
    return { threadId, scope: { type: "thread", threadId }, runId: undefined, openRunId, writtenAt };
  }
  if (run === undefined) {
    const found = begun ?? newRun(relay, id);
    if (found !== undefined) return found;
    throw notFound(id);
  }
  const { runId, threadId, updatedAt: writtenAt } = run;
  return { threadId, scope: { type: "run", runId }, runId, openRunId: run.status === "done" ? undefined : runId, writtenAt };
}

/** Behind the newest event. Of an empty log that is its start. */
async function startNow({ store }: Relay, { scope, openRunId }: Target): Promise<Start | undefined> {
  const cursor = await store.events.loadHead(scope);
  if (cursor === undefined) return undefined;
  const run = openRunId === undefined ? undefined : await store.runs.load(openRunId);
  if (run === undefined || run.status === "done" || run.status === "created") return { cursor, position: { type: "none" } };
  const { steps: step, status } = run;
  return { cursor, position: status === "waiting" ? { type: status, step } : { type: status, step, pending: undefined } };
}

type Batch = readonly AttachedEvent[];

interface Following {
  readonly relay: Relay;
  readonly exchange: Exchange;
}

/** What is on record, then what happens, until the run is over or the reader leaves: what is there at one moment comes together. */
export async function* follow(
  { relay, exchange }: Following,
  id: string,
  options: AttachOptions,
  leaving: AbortSignal,
): AsyncGenerator<Batch, void, undefined> {
  const after = options.after === undefined ? undefined : readCursor(options.after);
  const target = await findTarget(relay, id);
  const from = after ?? (options.from === "now" ? await startNow(relay, target) : undefined);
  const signals = [leaving, relay.closing, ...(options.signal === undefined ? [] : [options.signal])];
  const reader = new Reader({ relay, exchange }, target, from, signals);
  try {
    yield* reader.read(options.onCaughtUp);
  } finally {
    reader.close();
  }
}

class Reader {
  readonly #exchange: Exchange;
  readonly #relay: Relay;
  readonly #target: Target;
  readonly #signals: readonly AbortSignal[];
  readonly #log: LogReader;
  readonly #rebuild: Rebuild;
  readonly #isFresh: boolean;
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

  constructor({ relay, exchange }: Following, target: Target, from: Start | undefined, signals: readonly AbortSignal[]) {
    const { threadId, scope, openRunId, writtenAt } = target;
    this.#exchange = exchange;
    this.#relay = relay;
    this.#target = target;
    this.#signals = signals;
    this.#isFresh = from === undefined;
    this.#log = new LogReader(relay.store, { threadId, scope, ...(from === undefined ? undefined : { after: from.cursor }) });
    this.#rebuild = new Rebuild((step) => this.#takePassing((each) => each.step === step));
    if (from !== undefined) this.#rebuild.restore(openRunId, from.position, writtenAt);
    const ring = () => this.#ring();
    for (const signal of signals) signal.addEventListener("abort", ring);
    const leaveLog = relay.store.live?.follow(scope, () => {
      this.#isLogRung = true;
      ring();
    });
    const leaveThread = exchange.follow(threadId, { changed: (passing) => this.#hear(passing) });
    this.#leave.push(
      leaveThread,
      () => leaveLog?.(),
      () => {
        for (const signal of signals) signal.removeEventListener("abort", ring);
      },
    );
  }

  get #isOver(): boolean {
    return this.#signals.some((signal) => signal.aborted);
  }

  async *read(onCaughtUp?: () => void): AsyncGenerator<Batch, void, undefined> {
    for (let isFirst = true; !this.#isOver; isFirst = false) {
      this.#listen();
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
      const { position } = this.#rebuild;
      const last = events.at(-1);
      if (last === undefined) continue;
      if (position !== undefined) events[events.length - 1] = { ...last, cursor: writeCursor(commit.cursor, position) };
      yield events;
    }
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
