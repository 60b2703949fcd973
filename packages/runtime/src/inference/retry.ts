import { INFERENCE_FAILURES, type InferenceFailure } from "@awaken/contract";
import type { Clock } from "../stream/clock.ts";
import { sleep } from "../stream/sleep.ts";
import type { OpenInit } from "./stream-outcome.ts";

export const isTransient = (failure: InferenceFailure): boolean => INFERENCE_FAILURES[failure.type] === "transient";

/** Tells whoever listens why nothing comes, and waits. False when it was aborted. */
export function waitToRetry({ clock, signal, emit }: OpenInit, reason: string, attempt: number, delayMs: number): Promise<boolean> {
  emit({ type: "inference-retry", attempt, delayMs, reason });
  return pause(clock, delayMs, signal);
}

/** As `sleep`, and a wait of nothing sets no timer. */
function pause(clock: Clock, ms: number, signal: AbortSignal): Promise<boolean> {
  return ms > 0 ? sleep(clock, ms, signal) : Promise.resolve(!signal.aborted);
}
