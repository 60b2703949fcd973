import type { ErrorCode } from "./error-table.ts";
import type { RunStatus, WaitingReason } from "./statuses.ts";
import type { Termination } from "./termination.ts";

/** A string that may be another one than those that an editor offers. */
type OpenString = string & Record<never, never>;

/** Why a run failed. `code` decides what a program does, `message` is for people. */
export interface RunError {
  /** One of ours (`inference_unauthorized`, `storage_io`, `output_invalid`, …), or that of a plugin which ended the run. */
  readonly code: ErrorCode | OpenString;
  /** One sentence for people. It never holds a secret. */
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
  | {
      readonly status: "done";
      /** Whether the model was done or a plugin ended the run. */
      readonly termination: Ended<"natural-end" | "behavior-requested">;
    }
  /** It goes on after a decision, or when its work in the background is done. */
  | {
      readonly status: "waiting";
      /** `suspended` when calls wait, `natural-end` when work in the background does. */
      readonly termination: Ended<"suspended" | "natural-end">;
      /** What has to happen before the run goes on. */
      readonly waitingReason: WaitingReason;
    }
  /** `limit` names what was hit, `detail` says it in words: "16 of 16 steps". */
  | {
      readonly status: "stopped";
      /** As the record has it: the code of the limit and its detail. */
      readonly termination: Ended<"stopped">;
      /** Which limit was hit: a stop condition by its type, `max-tokens`, or the code of a plugin. */
      readonly limit: StopLimit;
      /** The same in words: "16 of 16 steps". */
      readonly detail: string;
    }
  | {
      readonly status: "cancelled";
      /** As the record has it. */
      readonly termination: Ended<"cancelled">;
    }
  /** A gate refused, and ended the run with it. */
  | {
      readonly status: "blocked";
      /** As the record has it, with the reason of the gate. */
      readonly termination: Ended<"blocked">;
      /** Why the gate refused, in its own words. */
      readonly reason: string;
    }
  | {
      readonly status: "failed";
      /** As the record has it. A run whose typed answer is missing failed although the model came to its end. */
      readonly termination: Termination;
      /** What a program decides by, and a sentence for people. */
      readonly error: RunError;
    };

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
    default:
      return termination satisfies never;
  }
  if (isOutputMissing) return { status: "failed", termination, error: { code: "output_invalid", message: NO_OUTPUT } };
  return { status: "done", termination };
}
