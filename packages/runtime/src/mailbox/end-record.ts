import { type CreatedRun, type RunId, type RunProjection, type RunRecord, runIdentity, type ThreadId } from "@awaken/contract";
import type { EventAppend, Outbound } from "@awaken/contract/store";
import { canonicalEvent } from "../commit/canonical-events.ts";
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

/** What does not depend on where the run stands. */
function bodyOf(run: RunRecord): Omit<CreatedRun, "status"> & { readonly startedAt?: number } {
  switch (run.status) {
    case "created": {
      const { ordinal: _, status: _s, ...body } = run;
      return body;
    }
    case "running": {
      const { ordinal: _, status: _s, tickets: _t, ...body } = run;
      return body;
    }
    case "waiting": {
      const { ordinal: _, status: _s, waiting: _w, ...body } = run;
      return body;
    }
    case "done": {
      const { ordinal: _, status: _s, finishedAt: _f, outcome: _o, ...body } = run;
      return body;
    }
  }
}

/** A commit that ends a run from its record alone: one that nobody could execute, or that nobody is to execute any more. */
export function endRecord(run: RunRecord, termination: RecordEnding, now: number): EndCommit {
  const { threadId, runId } = run;
  const at = Math.max(now, run.updatedAt + 1);
  const ended: RunProjection = { ...bodyOf(run), status: "done", updatedAt: at, finishedAt: at, outcome: { termination, response: "" } };
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
