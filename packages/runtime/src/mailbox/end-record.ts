import { type RunId, type RunProjection, type RunRecord, runIdentity, type ThreadId } from "@awaken/contract";
import type { EventAppend, Outbound } from "@awaken/contract/store";
import { canonicalEvent } from "../commit/canonical-events.ts";
import { endedRecord } from "../commit/ended-record.ts";
import { endEvent, type RecordEnding } from "../loop/end-news.ts";
import { parentWake } from "./parent-wake.ts";

export interface EndCommit {
  readonly threadId: ThreadId;
  readonly runId: RunId;
  readonly run: RunProjection;
  readonly events: readonly EventAppend[];
  /** Whoever waits for it goes on. */
  readonly outbound?: readonly Outbound[];
}

/** A commit that ends a run from its record alone: one that nobody could execute, or that nobody is to execute any more. */
export function endRecord(run: RunRecord, termination: RecordEnding, now: number): EndCommit {
  const { threadId, runId } = run;
  const ended = endedRecord(run, termination, now);
  const outbound = parentWake(ended);
  const waking = outbound.length === 0 ? undefined : { outbound };
  return {
    threadId,
    runId,
    run: ended,
    ...waking,
    events: [canonicalEvent(runIdentity(run), endEvent(run, termination), { isResumed: true, calls: new Set() })],
  };
}
