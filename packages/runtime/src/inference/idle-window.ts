import type { InferenceRequest } from "@awaken/contract";
import type { InferencePolicy } from "./policy.ts";

const THINKS = /thinking|reasoning|(?:^|\/)o[134]/i;

/** How long a stream may be silent. A model that thinks first gets twice the time. */
export function idleWindowMs({ streamIdleTimeoutMs }: InferencePolicy, { model, overrides }: InferenceRequest): number {
  return overrides?.reasoningEffort !== undefined || THINKS.test(model) ? streamIdleTimeoutMs * 2 : streamIdleTimeoutMs;
}
