import { AwakenError, type ThreadId } from "@awaken/contract";
import { cancel } from "../run/control.ts";
import { sleep } from "../stream/clock.ts";
import { cancelElsewhere } from "./control.ts";
import { endRecord } from "./end-record.ts";
import type { Tenant } from "./tenant.ts";

/** What an interrupt did. */
export interface Interrupted {
  /** How many runs were queued, and are cancelled now. */
  readonly superseded: number;
  /** Whether a run was at work, and has ended. */
  readonly cancelled: boolean;
}

const RELEASE_MS = 5_000;
const LOOK_MS = 25;

/** Resolves with the last commit of whoever holds the thread; `thread_already_running` when that does not come in time, and nothing has changed. */
async function released({ queue, ask, clock, parts }: Tenant, threadId: ThreadId): Promise<void> {
  const until = clock.now() + RELEASE_MS;
  for (;;) {
    const [held] = await ask("list dispatches", queue.dispatches.list(threadId, { statuses: ["claimed"], limit: 1 }));
    if (held === undefined) return;
    if (clock.now() >= until || !(await sleep(clock, LOOK_MS, parts.closing))) {
      throw new AwakenError(
        "thread_already_running",
        `thread already has an active run: ${threadId}, which did not stop within ${RELEASE_MS} ms`,
        {
          details: { threadId },
        },
      );
    }
  }
}

/**
 * Ends what is at work on the thread, waits for its last commit so that what it said is kept, and only then voids what is queued there.
 * `thread_not_found` when there was neither, unless that does not matter.
 */
export async function interrupt(tenant: Tenant, threadId: ThreadId, missing: "is-refused" | "if-any" = "is-refused"): Promise<Interrupted> {
  const { queue, ask, clock, parts } = tenant;
  const [held] = await ask("list dispatches", queue.dispatches.list(threadId, { statuses: ["claimed"], limit: 1 }));
  if (held !== undefined) {
    if (!(await cancel(parts, threadId))) await cancelElsewhere(tenant, held.runId);
    await released(tenant, threadId);
  }
  const { superseded } = await ask("interrupt a thread", queue.dispatches.interrupt(threadId));
  for (const { runId } of superseded) {
    const run = await ask("load a run", queue.runs.load(runId));
    if (run === undefined || run.status === "done") continue;
    const { entries } = await ask("load pending messages", queue.pending.load(threadId));
    for (const { pendingId, revision, deliveryMode } of entries) {
      if (deliveryMode.targetRunId === runId) await ask("retract a message", queue.pending.retract(threadId, pendingId, revision));
    }
    await ask("end a run", queue.commit(endRecord(run, { type: "cancelled" }, clock.now())));
  }
  if (held === undefined && superseded.length === 0 && missing === "is-refused") {
    throw new AwakenError("thread_not_found", `nothing to interrupt on thread '${threadId}'`, { details: { threadId } });
  }
  return { superseded: superseded.length, cancelled: held !== undefined };
}
