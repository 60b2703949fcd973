import { type CompactionOrder, errorMessage } from "@awaken/contract";
import type { LiveRun } from "../../plugin/define-plugin.ts";
import { childController } from "../../stream/abort.ts";
import type { Clock } from "../../stream/clock.ts";
import { type CompactionOutcome, compactionNotice, judgeSummary } from "./notice.ts";
import { type Summarizer, summarize } from "./summarize.ts";

/** The compactions of one run, one at a time. */
class RunCompactions {
  readonly #run: LiveRun;
  #taskId: string | undefined;
  #cancel = () => {};

  constructor(run: LiveRun) {
    this.#run = run;
  }

  /** False for a marker that a process left behind when it died, or another agent when it handed over: nobody works on that task. */
  owns(taskId: string): boolean {
    return this.#taskId === taskId;
  }

  /** Returns at once; the end of the task reaches the run through its inbox. */
  start(summarizer: Summarizer, order: CompactionOrder, clock: Clock): void {
    this.#cancel();
    this.#taskId = order.taskId;
    const { controller, dispose } = childController(this.#run.signal);
    this.#cancel = () => controller.abort();
    void this.#work(summarizer, order, clock, controller.signal).then(dispose, dispose);
  }

  cancel(): void {
    this.#cancel();
  }

  async #work(summarizer: Summarizer, order: CompactionOrder, clock: Clock, signal: AbortSignal): Promise<void> {
    let outcome: CompactionOutcome;
    try {
      const text = await summarize(summarizer, order, clock, signal);
      outcome = judgeSummary(text, order, summarizer.section.minSavingsRatio, summarizer.ids);
    } catch (thrown) {
      outcome = { type: "failed", error: errorMessage(thrown) };
    }
    if (signal.aborted) return;
    this.#run.send({ type: "compaction", notice: compactionNotice(outcome, order, () => clock.now()) });
  }
}

/** By the run that they are of; they go when it does. */
const ofRuns = new WeakMap<LiveRun, RunCompactions>();

export function compactionsOf(run: LiveRun): RunCompactions {
  const known = ofRuns.get(run) ?? new RunCompactions(run);
  ofRuns.set(run, known);
  return known;
}
