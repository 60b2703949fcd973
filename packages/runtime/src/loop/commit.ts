import type {
  AgentEvent,
  Decided,
  LedgerClaim,
  LedgerOutcome,
  Message,
  PersistedState,
  RunIdentity,
  RunLifecycle,
  Termination,
  Ticket,
} from "@awaken/contract";
import { runLifecycle } from "../state/run-lifecycle.ts";
import type { StateStore } from "../state/store.ts";
import type { StagedFact } from "./canonical-events.ts";
import { decided } from "./decided.ts";
import { openTickets } from "./open-tickets.ts";
import type { RunLedger } from "./run-ledger.ts";
import type { Tally } from "./tally.ts";
import type { Transcript } from "./transcript.ts";

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
  readonly events: readonly StagedFact[];
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
  /** Facts ride in the next write. */
  stage(event: StagedFact): void;
  /** The same, and listeners hear of the ticket when it is on record, if it is open then. */
  announce(event: TicketOpen): void;
  /** False: a run without a store. */
  readonly isDurable: boolean;
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

const NO_CLAIMS: readonly LedgerClaim[] = Object.freeze([]);
const NO_OUTCOMES: readonly LedgerOutcome[] = Object.freeze([]);
const NO_DECISIONS: Decided = Object.freeze({ entries: [] });
const NOTHING_NEW = Promise.resolve();

export const createCheckpoints = (init: CheckpointsInit): Checkpoints =>
  init.port === undefined ? new VolatileCheckpoints(init) : new DurableCheckpoints(init, init.port);

/** A run that lives in memory alone: nothing is built or kept for it. */
class VolatileCheckpoints implements Checkpoints {
  readonly isDurable = false;
  readonly #transcript: Transcript;
  readonly #tickets: NewTickets;

  constructor(init: CheckpointsInit) {
    this.#transcript = init.transcript;
    this.#tickets = new NewTickets(init);
  }

  stage(): void {}

  announce(event: TicketOpen): void {
    this.#tickets.add(event);
  }

  async write(): Promise<void> {
    this.#transcript.settle(0);
    this.#tickets.tell(this.#tickets.take());
  }

  async claim(): Promise<void> {}
}

class DurableCheckpoints implements Checkpoints {
  readonly isDurable = true;
  readonly #init: CheckpointsInit;
  readonly #port: CheckpointPort;
  readonly #tickets: NewTickets;
  #staged: StagedFact[] = [];
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

  stage(event: StagedFact): void {
    this.#staged.push(event);
  }

  write(ending?: Termination): Promise<void> {
    return this.#land(NO_CLAIMS, ending);
  }

  claim(claims: readonly LedgerClaim[]): Promise<void> {
    return this.#land(claims, undefined);
  }

  /** A decision may come, and a call may end, while something is written: that rides in the next write. */
  #land(claims: readonly LedgerClaim[], ending: Termination | undefined): Promise<void> {
    const before = this.#writing;
    const landed = before === undefined ? this.#next(claims, ending) : before.then(() => this.#next(claims, ending));
    if (landed === NOTHING_NEW) return landed;
    const writing = landed
      .catch(() => {})
      .then(() => {
        if (this.#writing === writing) this.#writing = undefined;
      });
    this.#writing = writing;
    return landed;
  }

  #next(claims: readonly LedgerClaim[], ending: Termination | undefined): Promise<void> {
    const current = this.#init.state.snapshot().get(runLifecycle);
    if (current === undefined) return NOTHING_NEW;
    // A hook may have ended the run; its record says so once, in the last write.
    const isEarly = current.status === "done" && ending === undefined;
    if (isEarly && claims.length === 0) return NOTHING_NEW;
    return this.#write(this.#take(isEarly ? { ...current, status: "running" } : current, claims, ending));
  }

  async #write(checkpoint: Omit<Checkpoint, "delta">): Promise<void> {
    const { transcript, ledger } = this.#init;
    const tickets = this.#tickets.take();
    const { size } = transcript;
    try {
      const { rowsBefore } = await this.#port.write({ ...checkpoint, delta: (count) => transcript.delta(count, size) });
      ledger?.begin(checkpoint.claims);
      transcript.settle(rowsBefore, size);
      this.#tickets.tell(tickets);
    } catch (thrown) {
      this.#tickets.putBack(tickets);
      // They ride in the next one. The calls that were to be claimed do not run.
      this.#staged = [...checkpoint.events, ...this.#staged];
      ledger?.putBack(checkpoint.outcomes);
      throw thrown;
    }
  }

  #take(lifecycle: RunLifecycle, claims: readonly LedgerClaim[], ending: Termination | undefined): Omit<Checkpoint, "delta"> {
    const { state, tally, ledger } = this.#init;
    const events = this.#staged;
    this.#staged = [];
    return {
      lifecycle,
      tally,
      runState: state.export("run"),
      threadState: state.export("thread"),
      tickets: openTickets(this.#init),
      decided: state.snapshot().get(decided) ?? NO_DECISIONS,
      events,
      claims,
      outcomes: ledger?.takeOutcomes() ?? NO_OUTCOMES,
      ending,
    };
  }
}
