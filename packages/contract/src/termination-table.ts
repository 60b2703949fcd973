import type { Schema } from "./schema.ts";
import type { ConclusionStatus, RunStatus } from "./statuses.ts";
import type { Termination } from "./termination.ts";
import { TERMINATION_SCHEMAS } from "./termination-schema.ts";

/** What is to be said about a termination before there can be one. */
export interface TerminationRow<T extends Termination["type"]> {
  readonly schema: Schema<Extract<Termination, { type: T }>>;
  /** The status that it may leave a run in. */
  readonly leaves: readonly Extract<RunStatus, "waiting" | "done">[];
  /** What whoever asked for the run may be told. */
  readonly results: readonly ConclusionStatus[];
}

/** The one closed table of terminations: a new one does not compile without its row. How the terminal shows it is its own to say. */
export const TERMINATION_TABLE = {
  "natural-end": {
    schema: TERMINATION_SCHEMAS["natural-end"],
    // It waits when work in the background is not done; it failed when a typed answer was asked for and there is none.
    leaves: ["done", "waiting"],
    results: ["done", "waiting", "failed"],
  },
  "behavior-requested": {
    schema: TERMINATION_SCHEMAS["behavior-requested"],
    leaves: ["done"],
    results: ["done", "failed"],
  },
  stopped: {
    schema: TERMINATION_SCHEMAS.stopped,
    leaves: ["done"],
    results: ["stopped"],
  },
  cancelled: { schema: TERMINATION_SCHEMAS.cancelled, leaves: ["done"], results: ["cancelled"] },
  blocked: { schema: TERMINATION_SCHEMAS.blocked, leaves: ["done"], results: ["blocked"] },
  suspended: { schema: TERMINATION_SCHEMAS.suspended, leaves: ["waiting"], results: ["waiting"] },
  error: {
    schema: TERMINATION_SCHEMAS.error,
    leaves: ["done"],
    results: ["failed"],
  },
} as const satisfies { readonly [T in Termination["type"]]: TerminationRow<T> };
