import { AwakenError, type ErrorCode, errorMessage, type RunIdentity, type Termination } from "@awaken/contract";
import type { LeavingFailure, WayOut } from "./holding.ts";

/** The activation ended and the run did not, and nobody here hears of it: whoever waits is told so, and nothing is written. */
export interface Elsewhere {
  readonly type: "elsewhere";
  readonly termination: Termination;
}

/** What a store says to an owner that is no longer one: another process has the run, and what this one did last is not on record. */
const FENCED: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  "fence_lost",
  "illegal_transition",
  "thread_already_running",
  "version_conflict",
]);

/** How a run ends whose last commit is not on record. */
export function lostCommit(thrown: unknown): Termination {
  const { code, message } = AwakenError.is(thrown) ? thrown : new AwakenError("storage_io", errorMessage(thrown));
  if (FENCED.has(code)) return { type: "error", code: "fence_lost", message: `the run was taken over by somebody else: ${message}` };
  return { type: "error", code, message: `storage failed: ${message}` };
}

/** It does not answer, or a newer program has changed its tables: the run is none the worse for it. */
const STORE_FAILED: ReadonlySet<ErrorCode> = new Set<ErrorCode>(["storage_io", "commit_unknown", "storage_too_new"]);

/** What the store failed with, when that is not the end of the run: somebody goes on from its last commit. */
export function takenBack(
  { signal, identity: { runId } }: { readonly signal: AbortSignal; readonly identity: RunIdentity },
  wayOut: WayOut,
  thrown: unknown,
): { readonly type: "left"; readonly failure: LeavingFailure } | Elsewhere | undefined {
  // Nobody wants it to go on.
  if (signal.aborted || !AwakenError.is(thrown) || !STORE_FAILED.has(thrown.code)) return undefined;
  const { code, message } = thrown;
  const failure: LeavingFailure = { of: "store", code, message, mayPass: true, retryAfterMs: undefined };
  const taken = wayOut.takesBack(failure);
  if (taken === "later") return { type: "left", failure };
  const who = code === "storage_too_new" ? "a process whose program is as new as the store" : "a process with workers";
  const why = `storage failed, and ${who} goes on with run '${runId}': ${message}`;
  return taken === undefined ? undefined : { type: "elsewhere", termination: { type: "error", code, message: why } };
}
