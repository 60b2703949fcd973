import type { AgentEvent, Decided, Message, PersistedState, RunLifecycle, Termination, Ticket } from "@awaken/contract";
import { runLifecycle } from "../state/run-lifecycle.ts";
import type { StateStore } from "../state/store.ts";
import { decided } from "./decided.ts";
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
  readonly events: readonly AgentEvent[];
  readonly ending: Termination | undefined;
}

/** Where checkpoints go. Gives the number of rows that were in the log before the delta. */
export interface CheckpointPort {
  write(checkpoint: Checkpoint): Promise<{ readonly rowsBefore: number }>;
}

export interface Checkpoints {
  /** `ending` makes it the last one. */
  write(ending?: Termination): Promise<void>;
  /** Facts ride in the next write. */
  stage(event: AgentEvent): void;
  /** False: a run without a store. */
  readonly isDurable: boolean;
}

export interface CheckpointsInit {
  readonly port: CheckpointPort | undefined;
  readonly state: StateStore;
  readonly transcript: Transcript;
  readonly tally: Tally;
  readonly tickets: () => readonly Ticket[];
}

/** Without a port a run lives in memory alone, and nothing is built or kept for it. */
export function createCheckpoints(init: CheckpointsInit): Checkpoints {
  const { port, state, transcript, tally } = init;
  if (port === undefined) {
    return {
      isDurable: false,
      stage() {},
      async write() {
        transcript.settle(0);
      },
    };
  }
  let staged: AgentEvent[] = [];
  return {
    isDurable: true,
    stage: (event) => {
      staged.push(event);
    },
    async write(ending) {
      const lifecycle = state.snapshot().get(runLifecycle);
      if (lifecycle === undefined) return;
      const events = staged;
      const { rowsBefore } = await port.write({
        delta: (count) => transcript.delta(count),
        lifecycle,
        tally,
        runState: state.export("run"),
        threadState: state.export("thread"),
        tickets: init.tickets(),
        decided: state.snapshot().get(decided)?.entries ?? [],
        events,
        ending,
      });
      staged = [];
      transcript.settle(rowsBefore);
    },
  };
}
