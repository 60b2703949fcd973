import type { InferenceFailure, InferenceRequest } from "@awaken/contract";
import { asksTooMuch, backoffMs } from "./backoff.ts";
import { classify } from "./classify.ts";
import type { InferencePolicy } from "./policy.ts";
import type { FailedStream } from "./read-stream.ts";
import { breakCause, breakText, recover, recoveryPlan } from "./recovery-plan.ts";
import { isTransient, waitToRetry } from "./retry.ts";
import type { FailedAttempt, Recovery, StreamOutcome, Turning } from "./stream-outcome.ts";

const STALL: InferenceFailure = { type: "stream-interrupted", message: "idle stall" };
const STALL_DELAY_MS = 200;

export const failureOf = (end: FailedStream): InferenceFailure => (end.type === "stalled" ? STALL : classify(end.thrown));

/** What becomes of a turn after an attempt that failed: another request, after a wait, or its end. `retry` counts from 0. */
export async function afterFailure(
  work: Turning,
  request: InferenceRequest,
  { type, failure }: FailedAttempt,
  retry: number,
): Promise<Recovery | StreamOutcome> {
  const { run, collector, recorder } = work;
  await recorder?.flush(collector);
  if (!isTransient(failure) || (type === "refused" && retry === 0)) return { type: "failed", failure };
  const cause = breakCause(failure);
  const hasMoved = type === "broken" && (run.provider.observer?.hasMoved?.(request) ?? false);
  const refusal = giveUp(run.policy, failure, retry, hasMoved);
  if (refusal !== undefined && recoveryPlan(collector, work.request) !== "synthesize") return { type: "failed", failure: refusal };
  const plan = recover(work, cause);
  if (plan.type === "cut" || hasMoved) return plan;
  const delayMs = cause === "idle stall" ? STALL_DELAY_MS : backoffMs(run.policy, failure, retry);
  return (await waitToRetry(run, failure.message, retry + 1, delayMs)) ? plan : { type: "aborted" };
}

/** What the inference fails with when it is not tried again. Whoever is left behind is not waited for. */
function giveUp(policy: InferencePolicy, failure: InferenceFailure, retry: number, hasMoved: boolean): InferenceFailure | undefined {
  if (asksTooMuch(policy, failure) && !hasMoved) return failure;
  if (retry < policy.maxStreamRetries) return undefined;
  return { type: "stream-interrupted", message: breakText(failure) };
}
