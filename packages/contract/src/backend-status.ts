import type { BackendResult, BackendStatus } from "./backend.ts";
import type { WaitingReason } from "./statuses.ts";
import type { Termination } from "./termination.ts";

/** What a termination of the loop says to whoever asked for the run. */
export function statusOfTermination(termination: Termination): BackendStatus {
  switch (termination.type) {
    case "natural-end":
    case "behavior-requested":
      return { type: "completed" };
    case "cancelled":
      return { type: "cancelled" };
    case "stopped":
      return { type: "failed", message: `stopped: ${termination.code}` };
    case "blocked":
      return { type: "failed", message: `blocked: ${termination.reason}` };
    case "suspended":
      return { type: "suspended" };
    case "error":
      return { type: "failed", message: termination.message };
  }
}

/** As a model and a person read it: `completed`, `failed: no such file`, `waiting-input: which one?`. */
export function statusLabel(status: BackendStatus): string {
  return "message" in status && status.message !== undefined ? `${status.type}: ${status.message}` : status.type;
}

type Label = "done" | "waiting-input" | "waiting-auth" | "suspended" | "failed" | "cancelled" | "timeout";

/** How a run that a backend executed stands on record, and one word for whoever shows it. */
export type DurableStatus =
  | { readonly status: "waiting"; readonly reason: WaitingReason; readonly label: Label }
  | {
      readonly status: "done";
      readonly reason: "natural" | "behavior-requested" | "stopped" | "blocked" | "error" | "cancelled" | "timeout";
      readonly label: Label;
    };

function completed(termination: Termination): DurableStatus {
  switch (termination.type) {
    case "natural-end":
      return { status: "done", reason: "natural", label: "done" };
    case "behavior-requested":
      return { status: "done", reason: "behavior-requested", label: "done" };
    case "suspended":
      return { status: "waiting", reason: "suspended", label: "done" };
    case "error":
    case "cancelled":
    case "stopped":
    case "blocked":
      return { status: "done", reason: termination.type, label: "done" };
  }
}

/** A wait wins over whatever the termination says. */
export function durableStatus({ status, termination }: Pick<BackendResult, "status" | "termination">): DurableStatus {
  switch (status.type) {
    case "completed":
      return completed(termination);
    case "waiting-input":
      return { status: "waiting", reason: "input-required", label: "waiting-input" };
    case "waiting-auth":
      return { status: "waiting", reason: "auth-required", label: "waiting-auth" };
    case "suspended":
      return { status: "waiting", reason: "suspended", label: "suspended" };
    case "failed":
      return { status: "done", reason: "error", label: "failed" };
    case "cancelled":
      return { status: "done", reason: "cancelled", label: "cancelled" };
    case "timeout":
      return { status: "done", reason: "timeout", label: "timeout" };
  }
}
