import type { Decided, LedgerClaim, LedgerOutcome, Message, PersistedState, RunLifecycle, Termination, Ticket } from "@awaken/contract";
import { runLifecycle } from "../state/run-lifecycle.ts";
import type { StateStore } from "../state/store.ts";
import type { StagedFact } from "./canonical-events.ts";
import { decided } from "./decided.ts";
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
  readonly decided: Decided["entries"];
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
  /** False: a run without a store. */
  readonly isDurable: boolean;
}

export interface CheckpointsInit {
  readonly port: CheckpointPort | undefined;
  readonly state: StateStore;
  readonly transcript: Transcript;
  readonly tally: Tally;
  readonly ledger: RunLedger | undefined;
  readonly tickets: () => readonly Ticket[];
}

const NO_CLAIMS: readonly LedgerClaim[] = [];
const NO_OUTCOMES: readonly LedgerOutcome[] = [];

/** Without a port a run lives in memory alone, and nothing is built or kept for it. */
export function createCheckpoints(init: CheckpointsInit): Checkpoints {
  const { port, state, transcript, tally, ledger } = init;
  if (port === undefined) {
    return {
      isDurable: false,
      stage() {},
      async write() {
        transcript.settle(0);
      },
      async claim() {},
    };
  }
  let staged: StagedFact[] = [];
  const land = async (claims: readonly LedgerClaim[], ending: Termination | undefined): Promise<void> => {
    const current = state.snapshot().get(runLifecycle);
    if (current === undefined) return;
    // A hook may have ended the run; its record says so once, in the last write.
    const isEarly = current.status === "done" && ending === undefined;
    if (isEarly && claims.length === 0) return;
    const lifecycle: RunLifecycle = isEarly ? { ...current, status: "running" } : current;
    const events = staged;
    staged = [];
    const outcomes = ledger?.takeOutcomes() ?? NO_OUTCOMES;
    const checkpoint: Checkpoint = {
      delta: (count) => transcript.delta(count),
      lifecycle,
      tally,
      runState: state.export("run"),
      threadState: state.export("thread"),
      tickets: init.tickets(),
      decided: state.snapshot().get(decided)?.entries ?? [],
      events,
      claims,
      outcomes,
      ending,
    };
    try {
      const { rowsBefore } = await port.write(checkpoint);
      ledger?.begin(claims);
      transcript.settle(rowsBefore);
    } catch (thrown) {
      // They ride in the next one. The calls that were to be claimed do not run.
      staged = [...events, ...staged];
      ledger?.putBack(outcomes);
      throw thrown;
    }
  };
  return {
    isDurable: true,
    stage: (event) => {
      staged.push(event);
    },
    write: (ending) => land(NO_CLAIMS, ending),
    claim: (claims) => land(claims, undefined),
  };
}
