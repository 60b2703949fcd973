import type { InferenceFailure, PoolSpec } from "@awaken/contract";

/** What a failure of the active member means for the conversation: nothing, another member, or another member for good. */
export type Reaction = "stay" | "switch" | "quarantine";

const MS = 1000;

export function reaction({ switch: policy }: PoolSpec, { type, retryAfterMs }: InferenceFailure): Reaction {
  switch (type) {
    case "rate-limited":
    case "overloaded": {
      const thresholdMs = (policy.quotaRetryAfterThresholdSecs ?? 0) * MS;
      return policy.onQuota && (retryAfterMs ?? thresholdMs) >= thresholdMs ? "switch" : "stay";
    }
    case "unauthorized":
    case "model-not-found":
      return policy.onPermanent ? "quarantine" : "stay";
    default:
      return "stay";
  }
}
