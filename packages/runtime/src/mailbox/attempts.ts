import { AwakenError, type ErrorCode } from "@awaken/contract";

const FIRST_DELAY_MS = 250;
const MAX_DELAY_MS = 30_000;
const MAX_DOUBLINGS = 6;

/** How long to wait after a failure, by the failures before it: 250, 250, 500, 1000 ms and so on, at most 30 s. */
export const retryDelayMs = (attemptCount: number): number =>
  Math.min(FIRST_DELAY_MS * 2 ** Math.min(Math.max(attemptCount - 1, 0), MAX_DOUBLINGS), MAX_DELAY_MS);

/** What nobody here knows, an agent or a record of a newer program, may be known by another node: that long, and asked for again so often. */
export const UNKNOWN_AGENT_MS = 10 * 60_000;
export const UNKNOWN_AGENT_DELAY_MS = 5_000;
/** Whoever did not know it leaves it to the others for a moment when it is due again. */
export const LEFT_TO_OTHERS_MS = 1_000;

/**
 * Since when this process has known that it does not know what a dispatch is for. That a dispatch is old says nothing of that: nobody may have
 * been there to ask.
 */
export class Unknowns {
  readonly #since = new Map<string, number>();

  has(id: string): boolean {
    return this.#since.has(id);
  }

  /** It is known after all. */
  forget(id: string): void {
    this.#since.delete(id);
  }

  /** For how long it was tried in vain; from now on, if it was not. */
  triedFor(id: string, now: number): number {
    for (const [other, at] of this.#since) {
      // Others have taken those up, or given them up. They stand in the order of time.
      if (now - at <= 2 * UNKNOWN_AGENT_MS) break;
      this.#since.delete(other);
    }
    const since = this.#since.get(id) ?? now;
    this.#since.set(id, since);
    return now - since;
  }
}

/** What becomes of a dispatch whose run could not be brought to an end. */
export type Failure =
  /** Somebody else has it: nothing is ours to say. */
  | { readonly type: "lost" }
  /** This process ends: another one goes on with it, and no attempt is used up. */
  | { readonly type: "hand-over" }
  /** The same would happen again, on every node. */
  | { readonly type: "dead-letter"; readonly error: string }
  /** Another node may be able to. */
  | { readonly type: "release"; readonly error: string }
  | {
      readonly type: "retry";
      readonly error: string;
      /** Not before so long, whatever the number of the try. */
      readonly minDelayMs?: number;
    };

/** Another owner has the run, says the store. */
const LOST: ReadonlySet<ErrorCode> = new Set<ErrorCode>(["fence_lost", "illegal_transition", "version_conflict"]);

/** Another node may know it: one that has the agent, whose program is as new as the one that wrote the records, or whose files are all there. */
const UNKNOWN: ReadonlySet<ErrorCode> = new Set<ErrorCode>(["agent_not_found", "storage_too_new", "part_not_loaded"]);

const PERMANENT: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  "model_not_found",
  "plugin_not_found",
  "provider_not_found",
  "resolve_failed",
  "invalid_activation",
  "invalid_id",
  "invalid_spec",
  "invalid_plugin_config",
  "capability_mismatch",
  "storage_corrupt",
  "storage_validation",
  "data_integrity",
  "run_not_found",
]);

const UNREADABLE: ReadonlySet<ErrorCode> = new Set<ErrorCode>(["storage_corrupt", "storage_too_new", "data_integrity"]);

/** What is on record cannot be read here, however often. */
export const isUnreadable = (thrown: unknown): boolean => AwakenError.is(thrown) && UNREADABLE.has(thrown.code);

export function judgeFailure(thrown: unknown): Failure {
  const error = thrown instanceof Error ? thrown.message : String(thrown);
  if (!AwakenError.is(thrown)) return { type: "retry", error };
  const { code } = thrown;
  if (LOST.has(code)) return { type: "lost" };
  if (UNKNOWN.has(code)) return { type: "release", error };
  return PERMANENT.has(code) ? { type: "dead-letter", error } : { type: "retry", error };
}
