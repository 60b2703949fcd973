import { type CompactionOrder, errorMessage } from "@awaken/contract";
import type { HookScene } from "../../phase/hook.ts";
import type { LiveRun } from "../../plugin/define-plugin.ts";
import { runLifecycle } from "../../state/run-lifecycle.ts";
import { childController } from "../../stream/abort.ts";
import type { Clock } from "../../stream/clock.ts";
import { compacting } from "./compacting-door.ts";
import type { CompactionOutcome } from "./notice.ts";
import type { Summarizer } from "./summarize.ts";

/** The compactions of one run, one at a time. */
export class RunCompactions {
  readonly #run: LiveRun;
  #taskId: string | undefined;
  #cancel = () => {};

  constructor(run: LiveRun) {
    this.#run = run;
  }

  isOf({ identity }: HookScene): boolean {
    return this.#run.snapshot().get(runLifecycle)?.runId === identity.runId;
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
    let room: Awaited<ReturnType<typeof compacting.open>>;
    try {
      room = await compacting.open();
    } catch (thrown) {
      // Nobody works on it: it is begun anew.
      this.#taskId = undefined;
      summarizer.log.warn(`the conversation could not be summarised: ${errorMessage(thrown)}`);
      return;
    }
    let outcome: CompactionOutcome;
    try {
      const text = await room.summarize(summarizer, order, clock, signal);
      outcome = room.judgeSummary(text, order, summarizer.section.minSavingsRatio, summarizer.ids);
    } catch (thrown) {
      outcome = { type: "failed", error: errorMessage(thrown) };
    }
    if (signal.aborted) return;
    this.#run.send({ type: "compaction", notice: room.compactionNotice(outcome, order, () => clock.now()) });
  }
}
