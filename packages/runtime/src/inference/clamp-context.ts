import type { ContextPolicy } from "@awaken/contract/spec";
import type { Capabilities } from "./capabilities.ts";

/** Narrows an agent's context policy to what the model can hold; never widens it. */
export function clampContext(policy: ContextPolicy, { contextWindow, maxOutputTokens: modelOutput }: Capabilities): ContextPolicy {
  const maxContextTokens = Math.min(policy.maxContextTokens, contextWindow ?? Number.POSITIVE_INFINITY);
  const maxOutputTokens = Math.min(policy.maxOutputTokens, modelOutput ?? Number.POSITIVE_INFINITY, maxContextTokens);
  const { autocompactThreshold, ...rest } = policy;
  const clamped = { ...rest, maxContextTokens, maxOutputTokens };
  const room = maxContextTokens - maxOutputTokens;
  if (autocompactThreshold === undefined || room <= 0) return clamped;
  return { ...clamped, autocompactThreshold: Math.min(autocompactThreshold, room) };
}
