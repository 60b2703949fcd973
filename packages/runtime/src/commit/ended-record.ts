import {
  type AgentEvent,
  type CreatedRun,
  openTicketsOf,
  type RunId,
  type RunProjection,
  type RunRecord,
  runIdentity,
  type ThreadId,
} from "@awaken/contract";
import type { EventAppend } from "@awaken/contract/store";
import { canonicalEvent } from "./canonical-events.ts";

/** How a run ends that nobody executes. */
export type RecordEnding = { readonly type: "cancelled" } | { readonly type: "error"; readonly code: string; readonly message: string };

/** It had given its answer, and waited for nothing but news. */
export interface SaidAll {
  readonly type: "natural-end";
  readonly response: string;
}

/** The last words of a run that nobody executes, as its record counts it. */
export function endEvent({ runId, threadId, usage, usageByModel = [] }: RunRecord, termination: RecordEnding | SaidAll): AgentEvent {
  const end = { type: "run-end", threadId, runId, termination, tickets: [], usage, usageByModel } as const;
  if (termination.type === "natural-end")
    return { ...end, termination: { type: "natural-end" }, result: { response: termination.response, status: "done" } };
  if (termination.type === "cancelled") return { ...end, result: { response: "", status: "cancelled" } };
  const { code, message } = termination;
  return { ...end, result: { response: "", status: "failed", error: { code, message } } };
}

/** Nobody can decide them any more, and whoever tries is told so: they stay tickets of this run. */
function closedOf(run: RunRecord): Pick<RunRecord, "closed"> {
  const open = openTicketsOf(run).map(({ id, toolCallId }) => ({ ticketId: id, toolCallId }));
  return open.length === 0 ? {} : { closed: [...(run.closed ?? []), ...open] };
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
      return { ...body, ...closedOf(run) };
    }
    case "waiting": {
      const { ordinal: _, status: _s, waiting: _w, ...body } = run;
      return { ...body, ...closedOf(run) };
    }
    case "done": {
      const { ordinal: _, status: _s, finishedAt: _f, outcome: _o, ...body } = run;
      return body;
    }
  }
}

type DoneRun = Extract<RunProjection, { status: "done" }>;

export interface EndCommit {
  readonly threadId: ThreadId;
  readonly runId: RunId;
  readonly run: DoneRun;
  readonly events: readonly EventAppend[];
}

/** Ends a run from its record alone: nobody executes it, so nothing is added but its end. */
export function composeEnd(run: RunRecord, termination: RecordEnding, now: number): EndCommit {
  const { threadId, runId } = run;
  const at = Math.max(now, run.updatedAt + 1);
  const ended: DoneRun = { ...bodyOf(run), status: "done", updatedAt: at, finishedAt: at, outcome: { termination, response: "" } };
  const events = [canonicalEvent(runIdentity(run), endEvent(run, termination), true, { calls: new Set(), asked: [] })];
  return { threadId, runId, run: ended, events };
}
