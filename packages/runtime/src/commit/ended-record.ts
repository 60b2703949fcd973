import type { CreatedRun, RunProjection, RunRecord } from "@awaken/contract";

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

type DoneRun = Extract<RunProjection, { status: "done" }>;

/** The record of a run that ends as it stands: nobody executes it, so nothing is added but its end. */
export function endedRecord(run: RunRecord, termination: DoneRun["outcome"]["termination"], now: number): DoneRun {
  const at = Math.max(now, run.updatedAt + 1);
  return { ...bodyOf(run), status: "done", updatedAt: at, finishedAt: at, outcome: { termination, response: "" } };
}
