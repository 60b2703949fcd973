import { AwakenError, dispatchId, type RunId, type RunRecord } from "@awaken/contract";
import type { ClaimedDispatch, Outbound } from "@awaken/contract/store";
import type { Ids } from "../stream/ids.ts";
import { parentWake } from "./parent-wake.ts";
import type { Ask, TenantQueue } from "./tenant-queue.ts";

// Whoever awaits a run that he started for another one sees its end himself, and wakes nobody. When that other one was taken from him
// meanwhile, it waits elsewhere for an end that nobody tells.

const keyOf = (id: RunId): string => `end:${id}`;

const NOTHING: readonly Outbound[] = Object.freeze([]);

interface Queuing {
  readonly queue: TenantQueue;
  readonly ask: Ask;
  readonly ids: Ids;
  readonly maxAttempts: number;
}

/** A dispatch behind that of whoever has the run: it is claimed when he is not at work any more. One is enough. */
export async function queueBehind({ queue, ask, ids, maxAttempts }: Queuing, run: Pick<RunRecord, "runId" | "threadId">): Promise<void> {
  const { runId, threadId } = run;
  const dispatch = { dispatchId: dispatchId(ids()), threadId, runId, maxAttempts, dedupeKey: keyOf(runId) };
  await ask("queue a run behind whoever has it", queue.dispatches.enqueue(dispatch)).catch((thrown: unknown) => {
    if (!AwakenError.is(thrown) || thrown.code !== "storage_already_exists") throw thrown;
  });
}

/** What such a dispatch has to tell of a run that is over. */
export const lateWake = ({ dedupeKey }: ClaimedDispatch, run: RunRecord | undefined): readonly Outbound[] =>
  run !== undefined && dedupeKey === keyOf(run.runId) ? parentWake(run) : NOTHING;
