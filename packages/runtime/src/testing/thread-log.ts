import type { Message, PersistedState, RunId } from "@awaken/contract";
import { effectiveMessages, type SequencedMessage } from "@awaken/contract/store";
import type { Counted } from "../commit/tally.ts";
import type { ThreadHistory } from "../loop/activation.ts";
import type { Checkpoint, CheckpointPort } from "../loop/commit.ts";

const countedBy = ({ answerId, steps, usage, usageByModel }: Counted): Counted => ({ answerId, steps, usage, usageByModel });

/** A thread's records in memory, for tests of the loop alone: what a run commits is what the next one finds. */
export class ThreadLog implements CheckpointPort {
  readonly rows: SequencedMessage[] = [];
  readonly checkpoints: Checkpoint[] = [];
  readonly #runs = new Map<RunId, NonNullable<ThreadHistory["run"]>>();
  #threadState: PersistedState | undefined;

  get messages(): readonly Message[] {
    return this.rows.map((row) => row.message);
  }

  /** A later process sees JSON, so this one does too. */
  async write(checkpoint: Checkpoint): Promise<{ readonly rowsBefore: number }> {
    const rowsBefore = this.rows.length;
    for (const message of checkpoint.delta(rowsBefore)) this.rows.push({ seq: this.rows.length + 1, message: structuredClone(message) });
    this.#threadState = structuredClone(checkpoint.threadState);
    this.#runs.set(checkpoint.lifecycle.runId, {
      state: structuredClone(checkpoint.runState),
      counted: countedBy(checkpoint.tally),
    });
    this.checkpoints.push(checkpoint);
    return { rowsBefore };
  }

  /** As the next activation reads it; with the run's own state when that run goes on. */
  history(resumed?: RunId): ThreadHistory {
    return {
      messages: effectiveMessages(this.rows),
      messageCount: this.rows.length,
      threadState: this.#threadState,
      run: resumed === undefined ? undefined : this.#runs.get(resumed),
      cutCalls: [],
      ledger: undefined,
    };
  }
}
