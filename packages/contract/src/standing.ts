import { type Conclusion, conclude } from "./conclusion.ts";
import type { DoneRun, RunRecord, WaitingRun } from "./run.ts";
import { CONCLUSIONS } from "./statuses.ts";
import type { Termination } from "./termination.ts";

/** It ended, or it waits. */
export type SettledRun = Extract<RunRecord, { status: "done" | "waiting" }>;

export const isSettled = (run: RunRecord): run is SettledRun => run.status === "done" || run.status === "waiting";

/** What became of a run, or how far it is. */
export const RUN_STANDINGS = ["created", "running", ...CONCLUSIONS] as const;
export type RunStanding = (typeof RUN_STANDINGS)[number];

export const standingOf = (run: RunRecord): RunStanding => (isSettled(run) ? concludeRecord(run).status : run.status);

/** The same from the record, for whoever did not execute the run. */
export function concludeRecord(run: WaitingRun | DoneRun): Conclusion {
  if (run.status === "waiting") {
    const { reason } = run.waiting;
    const termination: Termination = reason === "awaiting-tasks" ? { type: "natural-end" } : { type: "suspended" };
    return conclude({ termination, status: run.status, waitingReason: reason, isOutputMissing: false });
  }
  const { termination, output } = run.outcome;
  const isOutputMissing = run.activation.options.output !== undefined && output === undefined;
  return conclude({ termination, status: run.status, waitingReason: undefined, isOutputMissing });
}
