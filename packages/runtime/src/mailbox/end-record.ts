import type { RunRecord } from "@awaken/contract";
import type { Outbound } from "@awaken/contract/store";
import { composeEnd, type EndCommit, type RecordEnding } from "../commit/ended-record.ts";
import { parentWake } from "./parent-wake.ts";

/** Ends a run that nobody could execute, or that nobody is to execute any more. Whoever waits for it goes on. */
export function endRecord(run: RunRecord, termination: RecordEnding, now: number): EndCommit & { readonly outbound?: readonly Outbound[] } {
  const commit = composeEnd(run, termination, now);
  const outbound = parentWake(commit.run);
  return outbound.length === 0 ? commit : { ...commit, outbound };
}
