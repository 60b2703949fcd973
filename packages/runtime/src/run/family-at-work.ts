import type { RunRecord } from "@awaken/contract";
import { childOf } from "../commit/tickets.ts";
import type { RunRecords } from "../loop/run-records.ts";
import { storedCalls } from "../state/tool-call-states.ts";
import type { RunBell } from "./run-bell.ts";

/** Whether a run that waits for others goes on by itself: one of them is at work, or is over and has not been looked up yet. */
export async function isFamilyAtWork(records: RunRecords, run: RunRecord, bell?: RunBell): Promise<boolean> {
  const head = await records.threads.loadHead(run.threadId);
  const children = storedCalls(head?.state).flatMap(({ status, suspension }) =>
    status === "suspended" ? (childOf(suspension) ?? []) : [],
  );
  for (const id of children) {
    bell?.follow(id);
    const child = await records.runs.load(id);
    if (child === undefined) continue;
    if (child.status !== "waiting" || (await isFamilyAtWork(records, child, bell))) return true;
  }
  return false;
}
