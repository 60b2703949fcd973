import type { InferenceFailure } from "@awaken/contract";
import type { PoolSpec } from "@awaken/contract/spec";

/** What a failure of the active member means for the conversation: nothing, another member, or another member for good. */
export type Reaction = "stay" | "switch" | "quarantine";

const MS = 1000;

/** A wait that nobody makes (`maxWaitMs`) is none to stay for, whatever the threshold. */
export function reaction(
  { switch: policy }: PoolSpec,
  { type, retryAfterMs }: InferenceFailure,
  maxWaitMs = Number.POSITIVE_INFINITY,
): Reaction {
  switch (type) {
    case "rate-limited":
    case "overloaded": {
      const thresholdMs = (policy.quotaRetryAfterThresholdSecs ?? 0) * MS;
      const waitMs = retryAfterMs ?? thresholdMs;
      return policy.onQuota && (waitMs >= thresholdMs || waitMs > maxWaitMs) ? "switch" : "stay";
    }
    case "unauthorized":
    case "model-not-found":
      return policy.onPermanent ? "quarantine" : "stay";
    default:
      return "stay";
  }
}
