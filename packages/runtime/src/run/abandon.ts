import { type RunRecord, runIdentity, sameJson } from "@awaken/contract";
import { canonicalEvent } from "../loop/canonical-events.ts";
import { inTransaction } from "../loop/commit-store.ts";
import { takenUp } from "../loop/taken-up.ts";
import type { RunParts } from "./run-parts.ts";

/** A run that waits, and whose calls another run of the thread is about to retract: nobody can go on with it. */
export async function abandon(parts: RunParts, run: Extract<RunRecord, { status: "waiting" }>): Promise<void> {
  const { threadId, runId } = run;
  const { waiting: _waiting, ...body } = run;
  // Clocks of two nodes differ, and a record does not get older.
  const at = Math.max(parts.clock.now(), run.updatedAt);
  const termination = { type: "cancelled" } as const;
  const event = { type: "run-end", threadId, runId, termination, tickets: [], result: { response: "", status: "done" } } as const;
  await inTransaction(parts.records, async ({ runs, commit }) => {
    if (!sameJson(await runs.load(runId), run)) throw takenUp(run);
    await commit({
      threadId,
      runId,
      run: { ...body, status: "done", updatedAt: at, finishedAt: at, outcome: { termination, response: "" } },
      events: [canonicalEvent(runIdentity(run), event, true)],
    });
  });
}
