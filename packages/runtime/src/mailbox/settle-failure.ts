import type { RunRecord } from "@awaken/contract";
import type { ClaimedDispatch } from "@awaken/contract/store";
import { keyIn } from "../stream/scope-key.ts";
import { type Failure, isUnreadable, retryDelayMs, UNKNOWN_AGENT_DELAY_MS, UNKNOWN_AGENT_MS } from "./attempts.ts";
import { endDeadRecord } from "./end-record.ts";
import { type Executor, fenceOf } from "./executor.ts";

/** What becomes of a dispatch whose run is not over. On its last try it is a dead letter, and the run ends with it. */
export async function settleFailure(executor: Executor, claimed: ClaimedDispatch, failure: Failure): Promise<void> {
  const { queue, ask, clock, watchers, log } = executor;
  const fence = fenceOf(claimed);
  switch (failure.type) {
    case "lost":
      return;
    case "hand-over":
      await ask("put a dispatch back", queue.dispatches.release(fence));
      return;
    case "retry": {
      const { error, minDelayMs = 0 } = failure;
      if (claimed.attemptCount + 1 >= claimed.maxAttempts) return buryDispatch(executor, claimed, error);
      const delayMs = Math.max(retryDelayMs(claimed.attemptCount), minDelayMs);
      await ask("put a dispatch back", queue.dispatches.nack(fence, { error, delayMs }));
      watchers.failed(Math.max(0, clock.now() - claimed.updatedAt));
      return;
    }
    case "release": {
      const key = keyIn(queue.scopeId, claimed.dispatchId);
      // Once: it comes back every few seconds.
      if (!executor.unknowns.has(key)) log.warn(`a dispatch is left to other nodes: ${failure.error}`, { dispatchId: claimed.dispatchId });
      if (executor.unknowns.triedFor(key, clock.now()) > UNKNOWN_AGENT_MS) return buryDispatch(executor, claimed, failure.error);
      await ask("put a dispatch back", queue.dispatches.release(fence, UNKNOWN_AGENT_DELAY_MS));
      return;
    }
    case "dead-letter":
      return buryDispatch(executor, claimed, failure.error);
  }
}

/** The dead letter and the end of its run are one commit. A run that cannot be read cannot be ended, here or in the next try. */
async function buryDispatch(executor: Executor, claimed: ClaimedDispatch, error: string): Promise<void> {
  const { queue, ask, clock, watchers } = executor;
  const run = await ask("load a run", queue.runs.load(claimed.runId)).catch((thrown: unknown) => {
    if (!isUnreadable(thrown)) throw thrown;
    return "unreadable" as const;
  });
  if (run === "unreadable") {
    await ask("bury a dispatch", queue.dispatches.deadLetter(fenceOf(claimed), error));
    return;
  }
  const { threadId, runId: id } = claimed;
  const ended = isOpen(run) ? await endDeadRecord(executor, run, error, clock.now()) : undefined;
  const last = ended?.commit ?? { threadId, runId: id };
  await ask("bury a dispatch", queue.commit({ ...last, fence: fenceOf(claimed), dispatch: { type: "dead-letter", error } }));
  watchers.ended(ended?.commit.run);
  await ended?.stopBelow();
}

const isOpen = (run: RunRecord | undefined): run is RunRecord => run !== undefined && run.status !== "done";
