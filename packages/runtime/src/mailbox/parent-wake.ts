import { dispatchId, type RunProjection } from "@awaken/contract";
import type { Outbound } from "@awaken/contract/store";
import { isCalled } from "../run/called-run.ts";

const NOTHING: readonly Outbound[] = Object.freeze([]);

/**
 * Whatever makes a child done enqueues its parent, in the same commit. Each child has a dispatch of its own: one that is queued while the
 * parent is still at work comes behind it, and finds nothing to do if the parent has seen the end itself.
 */
export function parentWake(run: RunProjection): readonly Outbound[] {
  if (run.status !== "done" || !isCalled(run)) return NOTHING;
  const { parentThreadId } = run.activation.trace;
  if (parentThreadId === undefined) return NOTHING;
  const id = `wake:${run.runId}`;
  const dispatch = { dispatchId: dispatchId(id), threadId: parentThreadId, runId: run.parentRunId, dedupeKey: id };
  return [{ id, threadId: parentThreadId, dispatch }];
}
