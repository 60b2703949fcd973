import type { AgentEvent, Decided, Message, PersistedState, RunIdentity, RunLifecycle, Termination, Ticket } from "@awaken/contract";
import type { LedgerClaim, LedgerOutcome } from "@awaken/contract/store";
import { openTickets } from "../commit/open-tickets.ts";
import type { RunLedger } from "../commit/run-ledger.ts";
import type { Tally } from "../commit/tally.ts";
import type { Transcript } from "../commit/transcript.ts";
import type { Command } from "../phase/command.ts";
import { pastTickets } from "../state/past-tickets.ts";
import { runLifecycle } from "../state/run-lifecycle.ts";
import type { StateStore } from "../state/store.ts";

/** One durable write of a run: what is new since the last one. */
export interface Checkpoint {
  /** New messages for a log of `count` rows. A summary among them learns its rows from the count, so it is asked for again on a conflict. */
  readonly delta: (count: number) => readonly Message[];
  readonly lifecycle: RunLifecycle;
  readonly tally: Readonly<Tally>;
  readonly runState: PersistedState;
  readonly threadState: PersistedState;
  readonly tickets: readonly Ticket[];
  readonly decided: Decided;
  /** Facts that have to be on record together with it. */
  readonly events: readonly AgentEvent[];
  /** Calls that are about to run. */
  readonly claims: readonly LedgerClaim[];
  /** Results of calls that were claimed. */
  readonly outcomes: readonly LedgerOutcome[];
  readonly ending: Termination | undefined;
}

/** Where checkpoints go. Gives the number of rows that were in the log before the delta. */
export interface CheckpointPort {
  write(checkpoint: Checkpoint): Promise<{ readonly rowsBefore: number }>;
}

export interface Checkpoints {
  /** `ending` makes it the last one. */
  write(ending?: Termination): Promise<void>;
  /** The same, and these calls may run when it is done. */
  claim(claims: readonly LedgerClaim[]): Promise<void>;
  /** The same with what decisions change: it is so when it is on record, and not before. When it rejects, nothing has changed. */
  decide(taken: TakenDecisions): Promise<void>;
  /** Facts ride in the next write. */
  stage(event: AgentEvent): void;
  /** The same, and listeners hear of the ticket when it is on record, if it is open then. */
  announce(event: TicketOpen): void;
  /** False: a run without a store. */
  readonly isDurable: boolean;
}

/** What decisions change, and the facts that they are. */
export interface TakenDecisions {
  readonly change: Command;
  readonly facts: readonly AgentEvent[];
}

export interface CheckpointsInit {
  readonly port: CheckpointPort | undefined;
  readonly identity: RunIdentity;
  readonly state: StateStore;
  readonly transcript: Transcript;
  readonly tally: Tally;
  readonly ledger: RunLedger | undefined;
  readonly tell: (event: AgentEvent) => void;
}

export type TicketOpen = Extract<AgentEvent, { type: "ticket-open" }>;

/** Tickets that listeners have not heard of. */
class NewTickets {
  readonly #init: CheckpointsInit;
  #events: TicketOpen[] | undefined;

  constructor(init: CheckpointsInit) {
    this.#init = init;
  }

  add(event: TicketOpen): void {
    this.#events ??= [];
    this.#events.push(event);
  }

  take(): readonly TicketOpen[] {
    const events = this.#events ?? NO_EVENTS;
    this.#events = undefined;
    return events;
  }

  putBack(events: readonly TicketOpen[]): void {
    if (events.length > 0) this.#events = [...events, ...(this.#events ?? [])];
  }

  tell(events: readonly TicketOpen[]): void {
    if (events.length === 0) return;
    const open = new Set(openTickets(this.#init).map(({ id }) => id));
    for (const event of events) if (open.has(event.ticket.id)) this.#init.tell(event);
  }
}

const NO_EVENTS: readonly TicketOpen[] = Object.freeze([]);

/** What a write is for, beside what is new. */
interface Wanted {
  readonly claims: readonly LedgerClaim[];
  readonly ending: Termination | undefined;
  readonly decisions: TakenDecisions | undefined;
}

const NO_CLAIMS: readonly LedgerClaim[] = Object.freeze([]);
const NOTHING_MORE: Wanted = Object.freeze({ claims: NO_CLAIMS, ending: undefined, decisions: undefined });
const NO_OUTCOMES: readonly LedgerOutcome[] = Object.freeze([]);
const NO_DECISIONS: Decided = Object.freeze({ entries: [] });
const NOTHING_NEW = Promise.resolve();

export const createCheckpoints = (init: CheckpointsInit): Checkpoints =>
  init.port === undefined ? new VolatileCheckpoints(init) : new DurableCheckpoints(init, init.port);

/** A run that lives in memory alone: nothing is built or kept for it. */
class VolatileCheckpoints implements Checkpoints {
  readonly isDurable = false;
  readonly #init: CheckpointsInit;
  readonly #tickets: NewTickets;

  constructor(init: CheckpointsInit) {
    this.#init = init;
    this.#tickets = new NewTickets(init);
  }

  stage(): void {}

  announce(event: TicketOpen): void {
    this.#tickets.add(event);
  }

  async write(): Promise<void> {
    this.#init.transcript.settle(0);
    this.#tickets.tell(this.#tickets.take());
  }

  async claim(): Promise<void> {}

  decide({ change }: TakenDecisions): Promise<void> {
    this.#init.state.commit(change);
    return this.write();
  }
}

class DurableCheckpoints implements Checkpoints {
  readonly isDurable = true;
  readonly #init: CheckpointsInit;
  readonly #port: CheckpointPort;
  readonly #tickets: NewTickets;
  #staged: AgentEvent[] = [];
  /** The write that is under way, if one is: they come one after the other. Never rejects. */
  #writing: Promise<void> | undefined;

  constructor(init: CheckpointsInit, port: CheckpointPort) {
    this.#init = init;
    this.#port = port;
    this.#tickets = new NewTickets(init);
  }

  announce(event: TicketOpen): void {
    this.#staged.push(event);
    this.#tickets.add(event);
  }

  stage(event: AgentEvent): void {
    this.#staged.push(event);
  }

  write(ending?: Termination): Promise<void> {
    return this.#land(ending === undefined ? NOTHING_MORE : { ...NOTHING_MORE, ending });
  }

  claim(claims: readonly LedgerClaim[]): Promise<void> {
    return this.#land({ ...NOTHING_MORE, claims });
  }

  decide(decisions: TakenDecisions): Promise<void> {
    return this.#land({ ...NOTHING_MORE, decisions });
  }

  /** A decision may come, and a call may end, while something is written: that rides in the next write. */
  #land(wanted: Wanted): Promise<void> {
    const before = this.#writing;
    const landed = before === undefined ? this.#next(wanted) : before.then(() => this.#next(wanted));
    if (landed === NOTHING_NEW) return landed;
    const writing = landed
      .catch(() => {})
      .then(() => {
        if (this.#writing === writing) this.#writing = undefined;
      });
    this.#writing = writing;
    return landed;
  }

  #next(wanted: Wanted): Promise<void> {
    const current = this.#init.state.snapshot().get(runLifecycle);
    if (current === undefined) return NOTHING_NEW;
    // A hook may have ended the run; its record says so once, in the last write.
    const isEarly = current.status === "done" && wanted.ending === undefined;
    if (isEarly && wanted.claims.length === 0 && wanted.decisions === undefined) return NOTHING_NEW;
    return this.#write(isEarly ? { ...current, status: "running" } : current, wanted);
  }

  async #write(lifecycle: RunLifecycle, wanted: Wanted): Promise<void> {
    const { transcript, ledger, state } = this.#init;
    const { claims, decisions } = wanted;
    // Nothing runs beside a run that is about to leave: its tickets are shown when it has left, so that whoever decides finds it waiting.
    const isLeaving = lifecycle.status === "waiting" && wanted.ending === undefined;
    const tickets = isLeaving ? NO_EVENTS : this.#tickets.take();
    const { size } = transcript;
    const staged = this.#staged;
    this.#staged = [];
    const outcomes = ledger?.takeOutcomes() ?? NO_OUTCOMES;
    try {
      const told = this.#told(decisions === undefined ? state : state.with(decisions.change), wanted.ending);
      const events = decisions === undefined ? staged : [...staged, ...decisions.facts];
      const delta: Checkpoint["delta"] = (count) => transcript.delta(count, size);
      const { rowsBefore } = await this.#port.write({ ...told, lifecycle, events, claims, outcomes, delta });
      if (decisions !== undefined) state.commit(decisions.change);
      ledger?.begin(claims);
      transcript.settle(rowsBefore, size);
      this.#tickets.tell(tickets);
    } catch (thrown) {
      this.#tickets.putBack(tickets);
      // They ride in the next one. The calls that were to be claimed do not run, and the decisions are not taken.
      this.#staged = [...staged, ...this.#staged];
      ledger?.putBack(outcomes);
      throw thrown;
    }
  }

  #told(state: StateStore, ending: Termination | undefined) {
    const { identity, tally } = this.#init;
    return {
      tally,
      runState: state.export("run"),
      threadState: state.export("thread"),
      tickets: openTickets({ state, identity }),
      decided: state.snapshot().get(pastTickets) ?? NO_DECISIONS,
      ending,
    };
  }
}
