import {
  type AgentEvent,
  AwakenError,
  type Decided,
  type Message,
  type RunIdentity,
  type RunLifecycle,
  type Termination,
} from "@awaken/contract";
import { type Boundary, type LedgerClaim, type LedgerOutcome, MAX_COMMIT_ATTEMPTS, type PendingRecord } from "@awaken/contract/store";
import type { Batch } from "../state/batch.ts";
import { pastTickets } from "../state/past-tickets.ts";
import { runLifecycle } from "../state/run-lifecycle.ts";
import type { StateStore } from "../state/store.ts";
import type { TakenIn } from "./compose.ts";
import type { Landing } from "./land.ts";
import { NewTickets, type TicketOpen, tellTickets } from "./new-tickets.ts";
import { openTickets } from "./open-tickets.ts";
import type { RunLedger } from "./run-ledger.ts";
import type { Tally } from "./tally.ts";
import type { Transcript } from "./transcript.ts";

export interface RunWriterInit {
  readonly landing: Landing;
  readonly identity: RunIdentity;
  readonly state: StateStore;
  readonly transcript: Transcript;
  readonly tally: Tally;
  readonly ledger: RunLedger | undefined;
  readonly tell: (event: AgentEvent) => void;
}

/** What decisions change, and the facts that they are. */
export interface TakenDecisions {
  readonly change: Batch;
  readonly facts: readonly AgentEvent[];
}

/** What a commit is for, beside what is new. */
interface Wanted {
  readonly claims: readonly LedgerClaim[];
  readonly ending: Termination | undefined;
  readonly decisions: TakenDecisions | undefined;
  readonly takenIn: TakenIn | undefined;
}

const NO_CLAIMS: readonly LedgerClaim[] = Object.freeze([]);
const NO_OUTCOMES: readonly LedgerOutcome[] = Object.freeze([]);
const NO_MESSAGES: readonly Message[] = Object.freeze([]);
const NO_DECISIONS: Decided = Object.freeze({ entries: [] });
const NOTHING_MORE: Wanted = Object.freeze({ claims: NO_CLAIMS, ending: undefined, decisions: undefined, takenIn: undefined });

const NOTHING_TO_DO: Promise<void> = Promise.resolve();

const takenInOf = (boundary: Boundary, waiting: readonly PendingRecord[]): TakenIn => ({
  messages: waiting.map(({ message }) => message),
  consume: { boundary, entries: waiting.map(({ pendingId, revision }) => ({ pendingId, revision })) },
});

/**
 * What the loop writes with: it says what is new in the run, and has it on record when the promise is fulfilled. Writes come one after
 * the other; a decision may come, and a call may end, while something is written: that rides in the next one.
 */
export class RunWriter {
  readonly #init: RunWriterInit;
  readonly #tickets = new NewTickets();
  #staged: AgentEvent[] = [];
  /** The write that is under way, if one is. Never rejects. */
  #writing: Promise<void> | undefined;

  constructor(init: RunWriterInit) {
    this.#init = init;
  }

  /** Facts ride in the next write. */
  stage(event: AgentEvent): void {
    this.#staged.push(event);
  }

  /** The same, and listeners hear of the ticket when it is on record, if it is open then. */
  announce(event: TicketOpen): void {
    this.#staged.push(event);
    this.#tickets.add(event);
  }

  /** `ending` makes it the last one. */
  write(ending?: Termination): Promise<void> {
    return this.#inTurn(() => this.#write(ending === undefined ? NOTHING_MORE : { ...NOTHING_MORE, ending }));
  }

  /** The same, and these calls may run when it is done. */
  claim(claims: readonly LedgerClaim[]): Promise<void> {
    return this.#inTurn(() => this.#write({ ...NOTHING_MORE, claims }));
  }

  /** The same with what decisions change: it is so when it is on record, and not before. When it rejects, nothing has changed. */
  decide(decisions: TakenDecisions): Promise<void> {
    return this.#inTurn(() => this.#write({ ...NOTHING_MORE, decisions }));
  }

  /** The same with what waits in the thread's queue and enters here. The model sees it when it is on record; `entering` sees it before. */
  takeIn(at: Boundary, entering: (messages: readonly Message[]) => void): Promise<readonly PendingRecord[]> {
    return this.#inTurn(() => this.#takeIn(at, entering));
  }

  /** Puts messages into the log that the model is not going to read in this run. */
  append(messages: readonly Message[]): Promise<void> {
    return this.#inTurn(() => this.#init.landing.append({ messages }));
  }

  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const done = this.#writing === undefined ? work() : this.#writing.then(work);
    const over = () => {
      if (this.#writing === writing) this.#writing = undefined;
    };
    const writing = done.then(over, over);
    this.#writing = writing;
    return done;
  }

  async #takeIn(at: Boundary, entering: (messages: readonly Message[]) => void): Promise<readonly PendingRecord[]> {
    for (let attempt = 1; ; attempt++) {
      const waiting = await this.#init.landing.waiting(at);
      if (waiting.length === 0) return waiting;
      const takenIn = takenInOf(at, waiting);
      entering(takenIn.messages);
      try {
        await this.#write({ ...NOTHING_MORE, takenIn });
        return waiting;
      } catch (thrown) {
        const isOvertaken = AwakenError.is(thrown) && thrown.code === "pending_selection_conflict";
        if (!isOvertaken || attempt === MAX_COMMIT_ATTEMPTS) throw thrown;
      }
    }
  }

  #write(wanted: Wanted): Promise<void> {
    const lifecycle = this.#init.state.get(runLifecycle);
    if (lifecycle === undefined) return NOTHING_TO_DO;
    // A hook may have ended the run; its record says so once, in the last write.
    const isEarly = lifecycle.status === "done" && wanted.ending === undefined;
    if (isEarly && wanted.claims.length === 0 && wanted.decisions === undefined && wanted.takenIn === undefined) return NOTHING_TO_DO;
    return this.#commit(lifecycle, wanted);
  }

  async #commit(lifecycle: RunLifecycle, wanted: Wanted): Promise<void> {
    const { landing, identity, transcript, ledger, state, tally, tell } = this.#init;
    const { claims, decisions, ending, takenIn } = wanted;
    // Nothing runs beside a run that is about to leave: its tickets are shown when it has left, so that whoever decides finds it waiting.
    const isLeaving = lifecycle.status === "waiting" && ending === undefined;
    const isOver = lifecycle.status === "done" && ending !== undefined;
    const tickets = isLeaving ? [] : this.#tickets.take();
    const { size } = transcript;
    const staged = this.#staged;
    this.#staged = [];
    const outcomes = ledger?.takeOutcomes() ?? NO_OUTCOMES;
    let rowsBefore: number;
    try {
      const told = decisions === undefined ? state : state.with(decisions.change);
      const landed = await landing.land({
        messages: (count) => transcript.delta(count, size),
        takenIn,
        lifecycle,
        tally,
        runState: told.export(isOver ? "over" : "run"),
        threadState: told.export("thread"),
        tickets: openTickets({ state: told, identity }),
        decided: told.get(pastTickets) ?? NO_DECISIONS,
        events: decisions === undefined ? staged : [...staged, ...decisions.facts],
        claims,
        outcomes,
        ending,
      });
      rowsBefore = landed.rowsBefore;
    } catch (thrown) {
      // They ride in the next one. The calls that were to be claimed do not run, and the decisions are not taken.
      this.#tickets.putBack(tickets);
      this.#staged = [...staged, ...this.#staged];
      ledger?.putBack(outcomes);
      throw thrown;
    }
    // On record: whatever fails from here on, none of it rides again.
    ledger?.begin(claims);
    transcript.landed(rowsBefore, size);
    let seq = rowsBefore + size;
    for (const message of takenIn?.messages ?? NO_MESSAGES) transcript.show({ seq: ++seq, message });
    if (decisions !== undefined) state.commit(decisions.change);
    tellTickets(this.#init, tickets, tell);
  }
}
