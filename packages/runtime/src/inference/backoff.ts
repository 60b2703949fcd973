import type { InferenceFailure } from "@awaken/contract";
import type { InferencePolicy } from "./policy.ts";

const MAX_BACKOFF_MS = 8000;

/** The wait before retry number `retry`, counted from 0. A vendor that names a longer wait gets it. */
export function backoffMs(policy: InferencePolicy, failure: InferenceFailure, retry: number): number {
  const base = failure.type === "overloaded" ? policy.overloadedBackoffBaseMs : policy.backoffBaseMs;
  const own = Math.min(base * 2 ** retry, MAX_BACKOFF_MS);
  const { retryAfterMs = 0 } = failure;
  // What is no number at all, as a provider may read out of a header, is no longer wait.
  return retryAfterMs > own ? retryAfterMs : own;
}

/** Whether a vendor asks for a wait that nobody makes. */
export const asksTooMuch = ({ maxRetryAfterMs }: InferencePolicy, { retryAfterMs = 0 }: InferenceFailure): boolean =>
  retryAfterMs > maxRetryAfterMs;
