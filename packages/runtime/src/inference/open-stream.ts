import {
  AwakenError,
  INFERENCE_FAILURES,
  type InferenceFailure,
  type InferenceRequest,
  type Provider,
  type StreamPart,
} from "@awaken/contract";
import { raceAbort } from "../stream/abort.ts";
import { type Clock, sleep } from "../stream/clock.ts";
import { backoffMs } from "./backoff.ts";
import { classify } from "./classify.ts";
import type { InferencePolicy } from "./policy.ts";

export type Opened =
  | { readonly type: "opened"; readonly iterator: AsyncIterator<StreamPart> }
  | { readonly type: "refused"; readonly failure: InferenceFailure }
  | { readonly type: "aborted" };

export interface OpenInit {
  readonly provider: Provider;
  readonly request: InferenceRequest;
  readonly signal: AbortSignal;
  readonly clock: Clock;
  readonly policy: InferencePolicy;
}

const ABORTED: Opened = { type: "aborted" };

export const isTransient = (failure: InferenceFailure): boolean => INFERENCE_FAILURES[failure.type] === "transient";

/** Ends the iteration without waiting for it: a provider in the middle of a wait answers only after that. */
export function closeIterator(iterator: AsyncIterator<StreamPart>): void {
  try {
    iterator.return?.()?.then(undefined, () => {});
  } catch {
    // Whoever fails to close has nothing left that we could use.
  }
}

const closeLate = (stream: AsyncIterable<StreamPart>): void => closeIterator(stream[Symbol.asyncIterator]());

async function openOnce({ provider, request, signal }: OpenInit): Promise<Opened> {
  if (signal.aborted) return ABORTED;
  try {
    const stream = provider.stream(request, { signal });
    if (Symbol.asyncIterator in stream) return { type: "opened", iterator: stream[Symbol.asyncIterator]() };
    const raced = await raceAbort(stream, signal);
    if (raced.type === "value") return { type: "opened", iterator: raced.value[Symbol.asyncIterator]() };
    stream.then(closeLate, () => {});
    return ABORTED;
  } catch (thrown) {
    if (signal.aborted) return ABORTED;
    if (AwakenError.is(thrown)) throw thrown;
    return { type: "refused", failure: classify(thrown) };
  }
}

/** Opens a stream, again after transient failures as often as the policy says. What was opened is out of its hands. */
export async function openStream(init: OpenInit): Promise<Opened> {
  const { clock, policy, signal } = init;
  for (let retry = 0; ; retry++) {
    const opened = await openOnce(init);
    if (opened.type !== "refused" || retry >= policy.maxRetries || !isTransient(opened.failure)) return opened;
    if (!(await pause(clock, backoffMs(policy, opened.failure, retry), signal))) return ABORTED;
  }
}

/** As `sleep`, and a wait of nothing sets no timer. */
export function pause(clock: Clock, ms: number, signal: AbortSignal): Promise<boolean> {
  return ms > 0 ? sleep(clock, ms, signal) : Promise.resolve(!signal.aborted);
}
