import type { InferenceRequest } from "@awaken/contract";
import type { InferencePolicy } from "./policy.ts";

const THINKS = /thinking|reasoning|(?:^|\/)o[134]/i;

/** The model that was asked last, which is mostly the next one too. */
let last = { model: "", isThinking: false };

function isThinking(model: string): boolean {
  if (last.model !== model) last = { model, isThinking: THINKS.test(model) };
  return last.isThinking;
}

/** How long a stream may be silent. A model that thinks first gets twice the time. */
export function idleWindowMs({ streamIdleTimeoutMs }: InferencePolicy, { model, overrides }: InferenceRequest): number {
  return overrides?.reasoningEffort !== undefined || isThinking(model) ? streamIdleTimeoutMs * 2 : streamIdleTimeoutMs;
}

/** How long a stream may take to open: what the policy allows for that, and never longer than it may be silent. Infinity without a limit. */
export function openWindowMs(policy: InferencePolicy, request: InferenceRequest): number {
  const limits = [policy.openTimeoutMs, idleWindowMs(policy, request)].filter((ms) => ms > 0);
  return Math.min(...limits);
}
