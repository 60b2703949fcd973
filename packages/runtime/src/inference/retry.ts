import { INFERENCE_FAILURES, type InferenceFailure } from "@awaken/contract";
import type { Clock } from "../stream/clock.ts";
import { sleep } from "../stream/sleep.ts";
import type { OpenInit } from "./stream-outcome.ts";

export const isTransient = (failure: InferenceFailure): boolean => INFERENCE_FAILURES[failure.type] === "transient";

/** Tells whoever listens why nothing comes, and waits. False when it was aborted. */
export function waitToRetry(init: OpenInit, reason: string, attempt: number, delayMs: number): Promise<boolean> {
  init.emit({ type: "inference-retry", attempt, delayMs, reason });
  return pause(init.clock, delayMs, init.signal);
}

/** As `sleep`, and a wait of nothing sets no timer. */
function pause(clock: Clock, ms: number, signal: AbortSignal): Promise<boolean> {
  return ms > 0 ? sleep(clock, ms, signal) : Promise.resolve(!signal.aborted);
}
