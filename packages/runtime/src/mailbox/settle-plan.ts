import { AwakenError, dispatchId, type RunId, type RunRecord, runId, type ThreadId } from "@awaken/contract";
import { type ClaimedDispatch, type NewDispatch, type PendingRecord, resumeKey } from "@awaken/contract/store";
import type { Ids } from "../stream/ids.ts";
import { endRecord } from "./end-record.ts";
import { type Executor, fenceOf } from "./executor.ts";
import { lateWake } from "./late-wake.ts";
import type { DispatchPlan } from "./plan-dispatch.ts";

// What is done about a claimed dispatch for which no run is executed.

type NothingToDo = Extract<DispatchPlan, { type: "nothing" }>;

export async function settleNothing({ queue, ask }: Executor, claimed: ClaimedDispatch, { run, result }: NothingToDo): Promise<void> {
  const outbound = lateWake(claimed, run);
  const { threadId, runId: id } = claimed;
  const settling =
    outbound.length === 0
      ? queue.dispatches.ack(fenceOf(claimed))
      : queue.commit({ threadId, runId: id, outbound, fence: fenceOf(claimed), dispatch: { type: "ack", result } });
  await ask<unknown>("settle a dispatch", settling);
}

export async function endUnbegun(executor: Executor, claimed: ClaimedDispatch, run: RunRecord, next: RunId | undefined): Promise<void> {
  const { queue, ask, clock, watchers, ids } = executor;
  const ended = endRecord(run, { type: "cancelled" }, clock.now());
  const dispatch = { type: "ack", result: { type: "done", termination: { type: "cancelled" } } } as const;
  await ask(
    "end a run",
    queue.transaction(async ({ commit, dispatches }) => {
      await commit({ ...ended, fence: fenceOf(claimed), dispatch });
      if (next !== undefined) await dispatches.enqueue(nextOf(claimed, ids, next));
    }),
  );
  watchers.ended(ended.run);
}

/** How long a run waits until it is looked at again whether what is in front of its messages has gone. */
export const BLOCKED_MS = 5_000;

/** Whoever edits or retracts it at this moment is looked at again too. */
export async function voidBarrier({ queue, ask }: Executor, { threadId, pendingId, revision }: PendingRecord): Promise<void> {
  try {
    await ask("edit a message", queue.pending.update(threadId, pendingId, { revision, deliveryMode: { barrier: false } }));
  } catch (thrown) {
    if (!AwakenError.is(thrown) || !MOVED.has(thrown.code)) throw thrown;
  }
}

/** They go to the end of the queue, for whoever takes them back. */
export async function moveAside({ queue, ask }: Executor, threadId: ThreadId, messages: readonly PendingRecord[]): Promise<void> {
  const aside = new Set(messages.map(({ pendingId }) => pendingId));
  const { entries, revision } = await ask("load pending messages", queue.pending.load(threadId));
  const ids = entries.map(({ pendingId }) => pendingId);
  const order = [...ids.filter((id) => !aside.has(id)), ...ids.filter((id) => aside.has(id))];
  try {
    await ask("move messages aside", queue.pending.reorder(threadId, order, revision));
  } catch (thrown) {
    if (!AwakenError.is(thrown) || !MOVED.has(thrown.code)) throw thrown;
  }
}

const MOVED: ReadonlySet<string> = new Set(["version_conflict", "storage_not_found", "already_consumed"]);

/** A new run is promised under the id of its dispatch, and need not be if nothing is left for it to read. */
function nextOf({ threadId, maxAttempts, priority, runId: before }: ClaimedDispatch, ids: Ids, next: RunId | undefined): NewDispatch {
  const id = ids();
  const own = next === undefined ? { runId: runId(id), dedupeKey: resumeKey(before) } : { runId: next };
  return { dispatchId: dispatchId(id), threadId, maxAttempts, priority, ...own };
}

type ForAnother = Extract<DispatchPlan, { type: "for-another" }>;

/** Another run of the thread comes in the place of this one. */
export async function passOn({ queue, ask, ids }: Executor, claimed: ClaimedDispatch, { run, runId: next }: ForAnother): Promise<void> {
  const outbound = lateWake(claimed, run);
  const { threadId, runId: id } = claimed;
  await ask(
    "call another run",
    queue.transaction(async ({ dispatches, commit }) => {
      await dispatches.ack(fenceOf(claimed));
      if (outbound.length > 0) await commit({ threadId, runId: id, outbound });
      await dispatches.enqueue(nextOf(claimed, ids, next));
    }),
  );
}

export async function dropMessages({ queue, ask }: Executor, claimed: ClaimedDispatch, messages: readonly PendingRecord[]): Promise<void> {
  await ask(
    "drop news for nobody",
    queue.transaction(async ({ dispatches, pending }) => {
      await dispatches.ack(fenceOf(claimed));
      for (const { threadId, pendingId, revision } of messages) await pending.retract(threadId, pendingId, revision);
    }),
  );
}

/** Messages for a run that ended before it read them are for a run of their own. */
export async function moveMessages(
  { queue, ask, ids }: Executor,
  claimed: ClaimedDispatch,
  messages: readonly PendingRecord[],
): Promise<void> {
  const { threadId, maxAttempts, priority } = claimed;
  const id = runId(ids());
  await ask(
    "move messages to a new run",
    queue.transaction(async ({ dispatches, pending }) => {
      await dispatches.ack(fenceOf(claimed));
      for (const { pendingId, revision } of messages) {
        await pending.update(threadId, pendingId, { revision, deliveryMode: { boundary: "new-run", targetRunId: id } });
      }
      // The key says that there need be no run when they are taken back.
      await dispatches.enqueue({ dispatchId: dispatchId(id), threadId, runId: id, maxAttempts, priority, dedupeKey: `moved:${id}` });
    }),
  );
}
