import { AwakenError } from "./error.ts";
import type { RunStatus } from "./statuses.ts";

const NEXT: Record<RunStatus, readonly RunStatus[]> = {
  created: ["running", "done"],
  running: ["waiting", "done"],
  waiting: ["running", "done"],
  done: [],
};

/** Staying is always allowed; a done run changes nothing but itself. */
export function canRunMove(from: RunStatus, to: RunStatus): boolean {
  return from === to || NEXT[from].includes(to);
}

/** Why an activation ended. `suspended` leaves the run waiting, every other one leaves it done. */
export type Termination =
  | { readonly type: "natural-end" }
  | { readonly type: "behavior-requested" }
  | {
      readonly type: "stopped";
      /** The limit: a stop condition by its type, `max-tokens`, or the code of a plugin. */
      readonly code: string;
      /** The same in words. */
      readonly detail?: string;
    }
  | { readonly type: "cancelled" }
  | {
      readonly type: "blocked";
      /** Why the gate refused. */
      readonly reason: string;
    }
  | { readonly type: "suspended" }
  | {
      readonly type: "error";
      /** For people. */
      readonly message: string;
      /** For programs; absent when what was thrown had none. */
      readonly code?: string;
    };

/** One for all runs that end so. */
export const NATURAL_END: Extract<Termination, { type: "natural-end" }> = Object.freeze({ type: "natural-end" });

/** Any thrown value as the termination of the run that it ended. */
export function errorTermination(thrown: unknown): Termination {
  if (AwakenError.is(thrown)) return { type: "error", message: thrown.message, code: thrown.code };
  return { type: "error", message: thrown instanceof Error ? thrown.message : String(thrown) };
}
