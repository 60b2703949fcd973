import type { RunId, ThreadId, Ticket } from "@awaken/contract";
import type { EventCursor } from "@awaken/contract/store";
import type { ToldRun } from "../loop/finish.ts";
import type { ActiveRun } from "../run/active-runs.ts";
import { ticketsBelow } from "../run/tickets-below.ts";
import { onAbort } from "../stream/abort.ts";
import type { Late } from "../stream/door.ts";
import { afterThisTick } from "../stream/tick.ts";
import type { AttachedEvent, AttachOptions } from "./attached-event.ts";
import { HELD_MS } from "./begun-children.ts";
import { ASK_AGAIN_MS, type Exchange } from "./exchange.ts";
import { isPassing, type LiveStep, type PassingEvent, reportsOf } from "./live-event.ts";
import { Passing, type Source } from "./passing.ts";
import { readOutside } from "./read-fact.ts";
import { type Commit, LogReader, type Outside } from "./read-log.ts";
import { Rebuild } from "./rebuild.ts";
import type { Relay } from "./relay.ts";
import {
  checkKept,
  findTarget,
  isExpired,
  keptPlace,
  madeHere,
  readCursor,
  type Start,
  startNow,
  type Target,
  writeCursor,
} from "./target.ts";

/** For a store that wakes nobody. */
const POLL_MS = 500;

export type Batch = readonly AttachedEvent[];

export interface Following {
  readonly relay: Relay;
  readonly exchange: Exchange;
  /** Calls back when the runtime is closed, until it is told not to. */
  readonly onClosing: (ring: () => void) => () => void;
}

/** What somebody follows who is no reader of his own: he heard of the run while it was executed here. */
export interface FollowOptions extends AttachOptions {
  /** What he was told already. */
  readonly told?: ToldRun | undefined;
  /** Aborted: what is on record by then is told, and nothing more is waited for. */
  readonly enough?: AbortSignal | undefined;
}

/** Finds what is followed. What is refused is refused here. */
export function follow(following: Following, id: string, options: FollowOptions): Late<Reader> {
  const isWhole = options.after === undefined && options.told === undefined;
  const made = isWhole ? madeHere(following.relay, id) : undefined;
  return made === undefined ? followRecorded(following, id, options) : new Reader(following, made, undefined, options);
}

async function followRecorded(following: Following, id: string, options: FollowOptions): Promise<Reader> {
  const { relay } = following;
  const after = options.after === undefined ? undefined : readCursor(options.after);
  const isFromNow = after === undefined && options.from === "now";
  const { target, from } = isFromNow ? await startNow(relay, id) : { target: await findTarget(relay, id), from: after };
  const told = options.told && { ...options.told, place: await keptPlace(relay, target, options.told.place) };
  return new Reader(following, target, from, { ...options, told });
}

/** Where a reader is in its round: a round begins with a look at what is under way, and ends when there is nothing more to tell. */
type Stage = "look" | "tickets" | "log" | "below" | "over" | "show" | "pass" | "wait" | "rest";

/** What is on record, then what happens, until the run is over or the reader leaves: what is there at one moment comes together. */
export class Reader {
  readonly #exchange: Exchange;
  readonly #relay: Relay;
  readonly #target: Target;
  readonly #options: FollowOptions;
  readonly #log: LogReader;
  readonly #rebuild: Rebuild;
  readonly #isFresh: boolean;
  /** Up to what is told already, the log is only read. */
  #told: ToldRun | undefined;
  readonly #toldUpTo: EventCursor | undefined;
  readonly #leave: (() => void)[] = [];
  #stage: Stage = "look";
  #isFirst = true;
  #isLast = false;
  /** Its record says that it is over: the log is read once more. */
  #isLastLook = false;
  /** Something of it was in the log. */
  #isOnRecord = false;
  /** It waits in the queue, and has no record: it may never have one, which nobody tells. */
  #isQueued = false;
  #isLeft = false;
  /** The step under way when this round began, and what was open then. */
  #live: LiveStep | undefined;
  #tickets: readonly Ticket[] = [];
  readonly #passing = new Passing();
  #local: { readonly run: ActiveRun; readonly leave: () => void } | undefined;
  /** Something may be in the log that was not read. */
  #isLogRung = true;
  #isRung = false;
  #wake: (() => void) | undefined;
  #isDue = false;
  #stopTimer: (() => void) | undefined;
  #stopHeld: (() => void) | undefined;
  /** The step that the log was read for. */
  #readFor: string | undefined;

  constructor({ relay, exchange, onClosing }: Following, target: Target, from: Start | undefined, options: FollowOptions) {
    const { threadId, scope, openRunId, writtenAt, isNew } = target;
    this.#exchange = exchange;
    this.#relay = relay;
    this.#target = target;
    this.#options = options;
    const { told, enough } = options;
    this.#isFresh = from === undefined && told === undefined && isNew === undefined;
    this.#told = told;
    this.#toldUpTo = told?.place.type === "up-to" ? told.place.cursor : undefined;
    this.#log = new LogReader(relay.store, { threadId, scope, after: from?.cursor, cutAt: this.#toldUpTo });
    this.#passing.isHeld = told !== undefined;
    this.#rebuild = new Rebuild(this.#passing, target.runId !== undefined);
    if (from !== undefined) this.#rebuild.restore(openRunId, from.position, writtenAt);
    if (told?.place.type === "nothing") this.#goOnAlone(told);
    const ring = () => this.#ring();
    if (enough !== undefined) this.#leave.push(onAbort(enough, ring));
    const leaveLog = relay.store.live?.follow(scope, () => {
      this.#isLogRung = true;
      ring();
    });
    const leaveThread = exchange.follow(threadId, {
      changed: (runId, passing) => this.#hear(runId, passing),
      began: () => this.#listen(),
    });
    this.#leave.push(onClosing(ring), leaveThread, () => leaveLog?.());
    if (isNew === undefined) return;
    // It is heard from now on, and read when what it does in this tick is on record.
    this.#listen();
    this.#isRung = true;
    this.#stage = "rest";
  }

  get threadId(): ThreadId {
    return this.#target.threadId;
  }

  get #isOver(): boolean {
    return this.#isLeft || this.#relay.closing.aborted || this.#options.signal?.aborted === true;
  }

  /** What comes next; undefined when nothing will. One after the other. */
  async next(): Promise<Batch | undefined> {
    while (!this.#isOver) {
      let told: Batch | undefined;
      switch (this.#stage) {
        case "look":
          this.#look();
          break;
        case "tickets":
          // Before the log is read: a ticket that is on record by then is told there, and one that comes meanwhile will be.
          this.#tickets = await this.#openTickets();
          this.#stage = "log";
          break;
        case "log":
          told = this.#tellCommits(await this.#readLog());
          break;
        case "below":
          if (this.#rebuild.isHoldingBelow) told = this.#rebuild.tellBelow(this.#relay.clock.now());
          this.#stage = "over";
          break;
        case "over":
          if (this.#tickets.length > 0) told = await this.#tellTickets();
          else if (this.#rebuild.isOver) return undefined;
          else if (await this.#isRecordDone()) {
            // Its end may have come since the log was read, and nobody rung yet: what is on record is told.
            if (this.#isLastLook) return undefined;
            this.#isLastLook = true;
            this.#stage = "log";
          } else this.#stage = "show";
          break;
        case "show":
          // What was said before the step is told before it: inside of its answer nothing else is.
          told = this.#live && [...(this.#rebuild.isTelling ? [] : this.#rebuild.pass()), ...this.#rebuild.show(this.#live)];
          this.#stage = "pass";
          break;
        case "pass":
          told = this.#rebuild.pass();
          this.#stage = "wait";
          break;
        case "wait":
          if (this.#isFirst) this.#options.onCaughtUp?.();
          this.#isFirst = false;
          // He may have left just there: then there is nothing to watch any more.
          if (this.#isLast || this.#isOver) return undefined;
          this.#watch();
          this.#watchHeld();
          this.#stage = "rest";
          break;
        case "rest":
          await this.#rest();
          this.#isRung = false;
          this.#stage = "look";
      }
      if (told !== undefined && told.length > 0) return told;
    }
    return undefined;
  }

  /** Nothing is heard and no timer runs any more; whoever waits for the next event is let go. */
  close(): void {
    this.#isLeft = true;
    this.#ring();
    this.#stopTimer?.();
    this.#stopHeld?.();
    this.#local?.leave();
    for (const leave of this.#leave.splice(0)) leave();
  }

  /** Before the log is read: what was committed before this moment is found there, and so it is known whether the step still counts. */
  #look(): void {
    this.#listen();
    this.#isLast = this.#options.enough?.aborted === true;
    if (this.#isLast) this.#isLogRung = true;
    const live = this.#exchange.current(this.#target.threadId);
    this.#live = live;
    const shown = live?.soFar.start.messageId;
    if (shown !== undefined && !this.#rebuild.isShowing(shown) && this.#readFor !== shown) {
      this.#readFor = shown;
      this.#isLogRung = true;
    }
    if (!this.#isLogRung) this.#stage = "show";
    else this.#stage = this.#isFirst && this.#isFresh ? "tickets" : "log";
    this.#isLogRung = false;
  }

  /** A thread that is there has no place that is gone, unless retention took it; one without a log may be gone itself. */
  async #readLog(): Promise<readonly (Commit | Outside)[] | undefined> {
    const { runId, isNew } = this.#target;
    try {
      const commits = await this.#log.next();
      if (commits === undefined && this.#log.isEmpty && runId === undefined && isNew === undefined)
        await checkKept(this.#relay, this.#target);
      return commits;
    } catch (thrown) {
      if (isExpired(thrown)) await checkKept(this.#relay, this.#target);
      throw thrown;
    }
  }

  #tellCommits(commits: readonly (Commit | Outside)[] | undefined): Batch | undefined {
    if (commits === undefined) {
      if (this.#told !== undefined) this.#goOn(this.#told);
      this.#stage = "below";
      return undefined;
    }
    this.#isOnRecord = true;
    const events: AttachedEvent[] = [];
    for (const commit of commits) {
      if (this.#isOver) break;
      // What was heard before a commit is told before it, where it has its place: behind it, it may be of a step that is over.
      events.push(...this.#rebuild.pass());
      this.#tellCommit(commit, events);
    }
    return events;
  }

  #tellCommit(commit: Commit | Outside, events: AttachedEvent[]): void {
    const told = commit.run === undefined ? commit.events.flatMap((fact) => readOutside(fact) ?? []) : this.#rebuild.commit(commit);
    if (this.#told !== undefined) {
      if (commit.cursor === this.#toldUpTo) this.#goOn(this.#told);
      return;
    }
    const { position } = this.#rebuild;
    for (const event of told) events.push(event);
    const last = told.at(-1);
    if (last !== undefined && position !== undefined) events[events.length - 1] = { ...last, cursor: writeCursor(commit.cursor, position) };
  }

  /** From here on it is told; of the step that is not on record, the reader knows what he heard. */
  #goOn({ runId, step }: ToldRun): void {
    this.#told = undefined;
    this.#passing.isHeld = false;
    // Whatever the record says by now: he did hear it.
    if (step !== undefined) this.#rebuild.show({ runId, writtenAt: Number.POSITIVE_INFINITY, soFar: step });
  }

  /** The same where nothing of what he heard is in the log. */
  #goOnAlone(told: ToldRun): void {
    this.#rebuild.restore(told.runId, { type: "running", step: (told.step?.start.step ?? 1) - 1, pending: undefined }, 0);
    this.#goOn(told);
  }

  async #openTickets(): Promise<readonly Ticket[]> {
    const { openRunId } = this.#target;
    const run = openRunId === undefined ? undefined : await this.#relay.store.runs.load(openRunId);
    return run === undefined || run.status === "done" ? [] : ticketsBelow(this.#relay.store, run);
  }

  /** Those that are still open, also when the events that told of them are gone. */
  async #tellTickets(): Promise<Batch> {
    const unknown = this.#rebuild.unknownTickets(this.#tickets);
    this.#tickets = [];
    if (unknown.length === 0) return [];
    const still = new Set((await this.#openTickets()).map(({ id }) => id));
    return unknown.flatMap((ticket) => (still.has(ticket.id) ? [{ type: "ticket-open" as const, ticket }] : []));
  }

  /** A run that is followed alone is over when its record says so, whatever became of its last event. */
  async #isRecordDone(): Promise<boolean> {
    const { runId } = this.#target;
    if (runId === undefined || this.#rebuild.run !== undefined) {
      this.#isQueued = false;
      return false;
    }
    const { runs, queuedOn } = this.#relay.store;
    const run = await runs.load(runId);
    this.#isQueued = run === undefined && this.#local === undefined && (await queuedOn?.(runId)) !== undefined;
    if (run === undefined && (this.#isQueued || this.#local !== undefined)) return false;
    // One that never came to be on record is gone, unless it did so just now.
    const isGone = run === undefined && (await runs.load(runId)) === undefined;
    return (isGone || run?.status === "done") && !this.#isLogRung;
  }

  /** Hears what the run of this process says, if there is one. */
  #listen(): void {
    const run = this.#relay.localRun(this.#target.threadId);
    if (run === this.#local?.run) return;
    this.#local?.leave();
    this.#local = undefined;
    if (run === undefined) return;
    const leaveEvents = run.listeners.add((event) => {
      this.#hear(run.runId, isPassing(event) ? [{ step: run.ctx?.progress.step ?? 0, event }] : [], run);
    });
    const reports = reportsOf(run);
    if (reports.length > 0) this.#hear(run.runId, reports, run);
    // Gone from here, whatever of it is on record: it may be nothing.
    const leaveRun = run.onClosed(() => {
      if (!this.#isOnRecord) this.#isLogRung = true;
      this.#ring();
    });
    const leave = () => {
      leaveEvents();
      leaveRun();
    };
    this.#local = { run, leave };
  }

  #hear(runId: RunId, passing: readonly PassingEvent[], source?: Source): void {
    // Of other runs of the thread, whoever follows one alone is told nothing.
    if (this.#target.runId !== undefined && this.#target.runId !== runId) return;
    this.#passing.hear(runId, passing, source);
    this.#ring();
  }

  /** What happens in one tick is read together, unless it is so much that some would be lost. */
  #ring(): void {
    this.#isRung = true;
    if (this.#isOver || this.#passing.isCrowded) this.#wake?.();
    else if (this.#wake !== undefined && !this.#isDue) {
      this.#isDue = true;
      afterThisTick(this.#wake);
    }
  }

  #rest(): Promise<void> {
    this.#isDue = false;
    return new Promise((resolve) => {
      this.#wake = resolve;
      if (this.#isRung) this.#ring();
    });
  }

  /**
   * As long as another process executes a run, it is asked to tell of it, and the log is looked at by the way: a notice may have been
   * lost with its process. While nothing is under way, nobody looks.
   */
  #watch(): void {
    const { threadId } = this.#target;
    const isPolling = this.#relay.store.live === undefined;
    const isElsewhere = this.#rebuild.run !== undefined && this.#local === undefined;
    if (!isPolling && !isElsewhere && !this.#isQueued) {
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

  /** Tickets that are held are told when what they wait for does not come. */
  #watchHeld(): void {
    if (!this.#rebuild.isHoldingBelow) {
      this.#stopHeld?.();
      this.#stopHeld = undefined;
      return;
    }
    this.#stopHeld ??= this.#relay.clock.timer(HELD_MS, () => {
      this.#stopHeld = undefined;
      this.#isLogRung = true;
      this.#ring();
    });
  }
}
