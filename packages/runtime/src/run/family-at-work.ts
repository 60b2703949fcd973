import type { RunRecord } from "@awaken/contract";
import { childOf } from "../commit/tickets.ts";
import type { RunRecords } from "../loop/run-records.ts";
import { storedCalls } from "../state/tool-call-states.ts";
import type { RunBell } from "./run-bell.ts";

/**
 * Whether a run that waits, and for which no ticket was found, goes on by itself: one that it waits for is at work, or is over and has not been
 * looked up yet. What is read one after the other may not fit together: somebody who went on meanwhile counts as at work, and rings.
 */
export async function isFamilyAtWork(records: RunRecords, run: RunRecord, bell?: RunBell): Promise<boolean> {
  const head = await records.threads.loadHead(run.threadId);
  const children = storedCalls(head?.state).flatMap(({ status, suspension }) =>
    status === "suspended" ? (childOf(suspension) ?? []) : [],
  );
  for (const id of children) {
    const isHeardNow = bell?.follow(id);
    const child = await records.runs.load(id);
    if (child === undefined) continue;
    if (child.status === "waiting" && child.waiting.tickets.length > 0) {
      // They were opened after tickets were looked for, and maybe before anybody listened.
      if (isHeardNow) bell?.ring();
      return true;
    }
    if (child.status !== "waiting" || (await isFamilyAtWork(records, child, bell))) return true;
  }
  return (await records.runs.load(run.runId))?.updatedAt !== run.updatedAt;
}
