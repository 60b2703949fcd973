import type { ErrorCode } from "./error.ts";
import type { RunRecord } from "./run.ts";
import type { RunStatus, Termination, WaitingReason } from "./termination.ts";

/** How a run looks to whoever asked for it. A record says `done` for all but `waiting`; a person wants to know whether it worked. */
export const CONCLUSIONS = ["waiting", "done", "stopped", "cancelled", "blocked", "failed"] as const;
export type ConclusionStatus = (typeof CONCLUSIONS)[number];

/** A string that may be another one than those that an editor offers. */
type OpenString = string & Record<never, never>;

/** Why a run failed. `code` decides what a program does, `message` is for people. */
export interface RunError {
  /** One of ours (`inference_unauthorized`, `storage_io`, `output_invalid`, …), or that of a plugin which ended the run. */
  readonly code: ErrorCode | OpenString;
  readonly message: string;
}

/** The limit that ended a run: a stop condition by its type, `max-tokens`, or the code of a plugin. */
export type StopLimit =
  | "max-steps"
  | "max-tokens"
  | "timeout"
  | "token-budget"
  | "consecutive-errors"
  | "stop-on-tool"
  | "content-match"
  | "loop-detection"
  | OpenString;

type Ended<T extends Termination["type"]> = Extract<Termination, { readonly type: T }>;

/** What became of a run, told apart by `status`. */
export type Conclusion =
  /** It came to its end. */
  | { readonly status: "done"; readonly termination: Ended<"natural-end" | "behavior-requested"> }
  /** It goes on after a decision, or when its work in the background is done. */
  | { readonly status: "waiting"; readonly termination: Ended<"suspended" | "natural-end">; readonly waitingReason: WaitingReason }
  /** `limit` names what was hit, `detail` says it in words: "16 of 16 steps". */
  | { readonly status: "stopped"; readonly termination: Ended<"stopped">; readonly limit: StopLimit; readonly detail: string }
  | { readonly status: "cancelled"; readonly termination: Ended<"cancelled"> }
  /** A gate refused, and ended the run with it. */
  | { readonly status: "blocked"; readonly termination: Ended<"blocked">; readonly reason: string }
  | { readonly status: "failed"; readonly termination: Termination; readonly error: RunError };

export interface ConclusionFacts {
  readonly termination: Termination;
  readonly status: RunStatus;
  readonly waitingReason: WaitingReason | undefined;
  /** An answer of a certain shape was asked for, and there is none. */
  readonly isOutputMissing: boolean;
}

const NO_OUTPUT = "the run ended without an answer that fits the schema which was asked for";

export function conclude({ termination, status, waitingReason = "suspended", isOutputMissing }: ConclusionFacts): Conclusion {
  switch (termination.type) {
    case "natural-end":
      if (status === "waiting") return { status: "waiting", termination, waitingReason };
      break;
    case "behavior-requested":
      break;
    case "suspended":
      return { status: "waiting", termination, waitingReason };
    case "stopped":
      return { status: "stopped", termination, limit: termination.code, detail: termination.detail ?? termination.code };
    case "cancelled":
      return { status: "cancelled", termination };
    case "blocked":
      return { status: "blocked", termination, reason: termination.reason };
    case "error":
      return { status: "failed", termination, error: { code: termination.code ?? "internal", message: termination.message } };
  }
  if (isOutputMissing) return { status: "failed", termination, error: { code: "output_invalid", message: NO_OUTPUT } };
  return { status: "done", termination };
}

/** It ended, or it waits. */
export type SettledRun = Extract<RunRecord, { status: "done" | "waiting" }>;

export const isSettled = (run: RunRecord): run is SettledRun => run.status === "done" || run.status === "waiting";

/** What became of a run, or how far it is. */
export const RUN_STANDINGS = ["created", "running", ...CONCLUSIONS] as const;
export type RunStanding = (typeof RUN_STANDINGS)[number];

export const standingOf = (run: RunRecord): RunStanding => (isSettled(run) ? concludeRecord(run).status : run.status);

/** The same from the record, for whoever did not execute the run. */
export function concludeRecord(run: SettledRun): Conclusion {
  if (run.status === "waiting") {
    const { reason } = run.waiting;
    const termination: Termination = reason === "awaiting-tasks" ? { type: "natural-end" } : { type: "suspended" };
    return conclude({ termination, status: run.status, waitingReason: reason, isOutputMissing: false });
  }
  const { termination, output } = run.outcome;
  const isOutputMissing = run.activation.options.output !== undefined && output === undefined;
  return conclude({ termination, status: run.status, waitingReason: undefined, isOutputMissing });
}
