import { INFERENCE_FAILURES, type Turn } from "@awaken/contract";
import type { LeavingFailure } from "../commit/holding.ts";
import { callsInFlight, completeCalls } from "./calls-so-far.ts";
import type { Collector } from "./collector.ts";
import { failureText } from "./failure-text.ts";
import type { StreamOutcome } from "./stream-outcome.ts";

/** Refused as too long, and no client has heard of a call. */
export function isOverflow(outcome: StreamOutcome, collector: Collector): boolean {
  if (outcome.type !== "failed" || outcome.failure.type !== "context-overflow") return false;
  return callsInFlight(collector).length + completeCalls(collector).length === 0;
}

/** A failure in words that stay the same and hold no key. */
export const told = ({ type, failure }: Extract<StreamOutcome, { type: "failed" }>): StreamOutcome => ({
  type,
  failure: { ...failure, message: failureText(failure) },
});

/** What a run cannot get past with such a turn. */
export function leavingFailure({ failure }: Extract<Turn, { stopReason: "error" }>): LeavingFailure {
  const { type, message, retryAfterMs } = failure;
  const mayPass = type !== "cancelled" && INFERENCE_FAILURES[type] !== "permanent";
  return { of: "model", code: `inference_${type.replaceAll("-", "_")}`, message, mayPass, retryAfterMs };
}
