import type { Termination, WaitingReason } from "@awaken/contract";
import type { LeavingFailure } from "../commit/holding.ts";

/** What a step led to. The loop decides what comes of it. */
export type StepOutcome =
  | { readonly type: "continue" }
  | { readonly type: "natural-end" }
  | { readonly type: "suspended" }
  /** For something else than a decision. */
  | { readonly type: "waits"; readonly reason: WaitingReason }
  | { readonly type: "ended"; readonly termination: Termination }
  /** Nothing of the step is kept: the run leaves, and whoever goes on with it makes it again. */
  | { readonly type: "left"; readonly failure: LeavingFailure | undefined };
