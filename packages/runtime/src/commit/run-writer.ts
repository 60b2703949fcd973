import type { AgentEvent, Decided, Message, RunIdentity, RunLifecycle, Termination } from "@awaken/contract";
import type { LedgerClaim, LedgerOutcome } from "@awaken/contract/store";
import type { Batch } from "../state/batch.ts";
import { pastTickets } from "../state/past-tickets.ts";
import { runLifecycle } from "../state/run-lifecycle.ts";
import type { RunState } from "../state/run-state.ts";
import type { Late } from "../stream/door.ts";
import type { TakenIn } from "./compose.ts";
import type { Landed, Landing } from "./land.ts";
import { NewTickets, type TicketOpen, tellTickets } from "./new-tickets.ts";
import { openTickets } from "./open-tickets.ts";
import type { RunLedger } from "./run-ledger.ts";
import type { Tally } from "./tally.ts";
import type { Transcript } from "./transcript.ts";

export interface RunWriterInit {
  readonly landing: Landing;
  readonly identity: RunIdentity;
  readonly state: RunState;
  readonly transcript: Transcript;
  readonly tally: Tally;
  readonly ledger: RunLedger | undefined;
  tell(event: AgentEvent): void;
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

/** What a commit takes out of what is new. */
interface Riding {
  readonly wanted: Wanted;
  readonly tickets: readonly TicketOpen[];
  readonly staged: AgentEvent[];
  readonly outcomes: readonly LedgerOutcome[];
  /** Messages of the transcript. */
  readonly size: number;
}

/** What fails at once is a rejection, as what fails later. */
function begin<T>(work: () => Late<T>): Late<T> {
  try {
    return work();
  } catch (thrown) {
    return Promise.reject(thrown);
  }
}

/**
 * What the loop writes with: it says what is new in the run, and has it on record when it has waited for it, which it need not do where
 * the store answers at once. Writes come one after the other; a decision may come, and a call may end, while something is written: that
 * rides in the next one.
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
  write(ending?: Termination): Late<undefined> {
    return this.#inTurn(() => this.#write(ending === undefined ? NOTHING_MORE : { ...NOTHING_MORE, ending }));
  }

  /** The same, and these calls may run when it is done. */
  claim(claims: readonly LedgerClaim[]): Late<undefined> {
    return this.#inTurn(() => this.#write({ ...NOTHING_MORE, claims }));
  }

  /** The same with what decisions change: it is so when it is on record, and not before. When it rejects, nothing has changed. */
  decide(decisions: TakenDecisions): Late<undefined> {
    return this.#inTurn(() => this.#write({ ...NOTHING_MORE, decisions }));
  }

  /**
   * For whoever looks what waits in the thread's queue: nothing else is written from his look on. What he gives is the same with that, and
   * the model sees it when it is on record.
   */
  takeIn<T>(work: (write: (takenIn: TakenIn) => Late<undefined>) => Promise<T>): Late<T> {
    return this.#inTurn(() => work((takenIn) => this.#write({ ...NOTHING_MORE, takenIn })));
  }

  /** Puts messages into the log that the model is not going to read in this run. */
  append(messages: readonly Message[]): Late<void> {
    return this.#inTurn(() => this.#init.landing.append({ messages }));
  }

  #inTurn<T>(work: () => Late<T>): Late<T> {
    const done = this.#writing === undefined ? begin(work) : this.#writing.then(work);
    if (!(done instanceof Promise)) return done;
    const over = () => {
      if (this.#writing === writing) this.#writing = undefined;
    };
    const writing = done.then(over, over);
    this.#writing = writing;
    return done;
  }

  #write(wanted: Wanted): Late<undefined> {
    const lifecycle = this.#init.state.get(runLifecycle);
    if (lifecycle === undefined) return undefined;
    // A hook may have ended the run; its record says so once, in the last write.
    const isEarly = lifecycle.status === "done" && wanted.ending === undefined;
    if (isEarly && wanted.claims.length === 0 && wanted.decisions === undefined && wanted.takenIn === undefined) return undefined;
    return this.#commit(lifecycle, wanted);
  }

  #commit(lifecycle: RunLifecycle, wanted: Wanted): Late<undefined> {
    const { landing, identity, transcript, ledger, state, tally } = this.#init;
    const { claims, decisions, ending, takenIn } = wanted;
    // Nothing runs beside a run that is about to leave: its tickets are shown when it has left, so that whoever decides finds it waiting.
    const isLeaving = lifecycle.status === "waiting" && ending === undefined;
    const isOver = lifecycle.status === "done" && ending !== undefined;
    const tickets = isLeaving ? [] : this.#tickets.take();
    const { size } = transcript;
    const staged = this.#staged;
    this.#staged = [];
    const outcomes = ledger?.takeOutcomes() ?? NO_OUTCOMES;
    const riding: Riding = { wanted, tickets, staged, outcomes, size };
    let landed: Late<Landed>;
    try {
      const told = decisions === undefined ? state : state.with(decisions.change);
      landed = landing.land({
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
    } catch (thrown) {
      return this.#putBack(riding, thrown);
    }
    if (!(landed instanceof Promise)) return this.#landed(riding, landed);
    return landed.then(
      (there) => this.#landed(riding, there),
      (thrown: unknown) => this.#putBack(riding, thrown),
    );
  }

  /** It rides in the next one. The calls that were to be claimed do not run, and the decisions are not taken. */
  #putBack({ tickets, staged, outcomes }: Riding, thrown: unknown): never {
    this.#tickets.putBack(tickets);
    this.#staged = [...staged, ...this.#staged];
    this.#init.ledger?.putBack(outcomes);
    throw thrown;
  }

  /** On record: whatever fails from here on, none of it rides again. */
  #landed({ wanted: { claims, decisions, takenIn }, tickets, size }: Riding, { rowsBefore }: Landed): undefined {
    const { ledger, transcript, state } = this.#init;
    ledger?.begin(claims);
    transcript.landed(rowsBefore, size);
    let seq = rowsBefore + size;
    for (const message of takenIn?.messages ?? NO_MESSAGES) transcript.show({ seq: ++seq, message });
    if (decisions !== undefined) state.commit(decisions.change);
    if (tickets.length > 0) tellTickets(this.#init, tickets, (event) => this.#init.tell(event));
    return undefined;
  }
}
