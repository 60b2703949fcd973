import { dispatchId, type Message, type RunProjection, type ThreadId } from "@awaken/contract";
import type { Outbound } from "@awaken/contract/store";
import { isCalled } from "../run/called-run.ts";
import { type EndedTask, endNews } from "../run/task-news.ts";

const NOTHING: readonly Outbound[] = Object.freeze([]);

/**
 * Whatever makes a child done enqueues its parent, in the same commit. Each child has a dispatch of its own: one that is queued while the
 * parent is still at work comes behind it, and finds nothing to do if the parent has seen the end itself.
 */
export function parentWake(run: RunProjection): readonly Outbound[] {
  if (run.status !== "done") return NOTHING;
  const { parentThreadId } = run.activation.trace;
  if (parentThreadId === undefined) return NOTHING;
  const news = endNews(run);
  if (news !== undefined) return [taskOutbound(run, parentThreadId, news)];
  if (!isCalled(run)) return NOTHING;
  const id = `wake:${run.runId}`;
  const dispatch = { dispatchId: dispatchId(id), threadId: parentThreadId, runId: run.parentRunId, dedupeKey: id };
  return [{ id, threadId: parentThreadId, forRun: run.parentRunId, dispatch }];
}

/** When news of a task are read: by whatever run is open on the thread, before what people have queued for a later one. */
export const NEWS = { boundary: "next-step" } as const;

/** The end of a background task is news for the thread of whoever started it; the run that waits there is woken for them. */
function taskOutbound(run: EndedTask, threadId: ThreadId, message: Message): Outbound {
  const id = `task-end:${run.runId}`;
  const wake =
    run.parentRunId === undefined
      ? undefined
      : { forRun: run.parentRunId, dispatch: { dispatchId: dispatchId(id), threadId, runId: run.parentRunId, dedupeKey: id } };
  return { id, threadId, pending: [{ message, deliveryMode: NEWS }], ...wake };
}
