import * as s from "./schema/all.ts";
import type { Schema } from "./schema.ts";
import type { ConclusionStatus, RunStatus, Termination } from "./termination.ts";

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
    schema: s.object({ type: s.literal("natural-end") }),
    // It waits when work in the background is not done; it failed when a typed answer was asked for and there is none.
    leaves: ["done", "waiting"],
    results: ["done", "waiting", "failed"],
  },
  "behavior-requested": {
    schema: s.object({ type: s.literal("behavior-requested") }),
    leaves: ["done"],
    results: ["done", "failed"],
  },
  stopped: {
    schema: s.object({ type: s.literal("stopped"), code: s.string(), detail: s.exactOptional(s.string()) }),
    leaves: ["done"],
    results: ["stopped"],
  },
  cancelled: { schema: s.object({ type: s.literal("cancelled") }), leaves: ["done"], results: ["cancelled"] },
  blocked: { schema: s.object({ type: s.literal("blocked"), reason: s.string() }), leaves: ["done"], results: ["blocked"] },
  suspended: { schema: s.object({ type: s.literal("suspended") }), leaves: ["waiting"], results: ["waiting"] },
  error: {
    schema: s.object({ type: s.literal("error"), message: s.string(), code: s.exactOptional(s.string()) }),
    leaves: ["done"],
    results: ["failed"],
  },
} as const satisfies { readonly [T in Termination["type"]]: TerminationRow<T> };

export const terminationSchema = s.taggedUnion(
  "type",
  Object.values(TERMINATION_TABLE).map(({ schema }) => schema),
);
