import type { McpServerSpec } from "@awaken/contract/spec";

export interface ReconnectPolicy {
  readonly maxAttempts: number;
  /** Before the nth attempt, counted from 1. */
  delayMs(attempt: number): number;
}

const DEFAULT = { maxAttempts: 5, delayMs: 1_000, backoffMultiplier: 2, maxDelayMs: 30_000 };

/** A policy that is not enabled means the default, not "never". */
export function reconnectPolicy({ restartPolicy }: McpServerSpec): ReconnectPolicy {
  const { maxAttempts, delayMs, backoffMultiplier, maxDelayMs } = restartPolicy.enabled ? restartPolicy : DEFAULT;
  return {
    maxAttempts: maxAttempts ?? Number.POSITIVE_INFINITY,
    delayMs: (attempt) => Math.min(maxDelayMs, delayMs * backoffMultiplier ** (attempt - 1)),
  };
}
