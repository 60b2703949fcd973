import {
  AwakenError,
  INFERENCE_FAILURES,
  type InferenceFailure,
  type InferenceRequest,
  type Provider,
  type StreamPart,
} from "@awaken/contract";
import { childController, raceAbort } from "../stream/abort.ts";
import { type Clock, sleep } from "../stream/clock.ts";
import { backoffMs } from "./backoff.ts";
import { classify } from "./classify.ts";
import { DEFAULT_OPEN_TIMEOUT_MS, type InferencePolicy } from "./policy.ts";

/** A stream to read, and the signal that ends it. */
export interface OpenedStream {
  readonly iterator: AsyncIterator<StreamPart>;
  readonly signal: AbortSignal;
  /** To be called once. A stream that was not read to its end is broken off. */
  release(isDrained: boolean): void;
}

export type Opened =
  | { readonly type: "opened"; readonly stream: OpenedStream }
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

/** Opens a stream, again after transient failures as often as the policy says. What was opened is out of its hands. */
export async function openStream(init: OpenInit): Promise<Opened> {
  const { clock, policy, signal } = init;
  for (let retry = 0; ; retry++) {
    const opened = await openOnce(init);
    if (opened.type !== "refused" || retry >= policy.maxRetries || !isTransient(opened.failure)) return opened;
    if (!(await pause(clock, backoffMs(policy, opened.failure, retry), signal))) return ABORTED;
  }
}

async function openOnce(init: OpenInit): Promise<Opened> {
  if (init.signal.aborted) return ABORTED;
  const { controller, dispose } = childController(init.signal);
  try {
    const opening = init.provider.stream(init.request, { signal: controller.signal });
    const stream = Symbol.asyncIterator in opening ? opening : await waitFor(opening, init, controller);
    if (stream !== undefined) return { type: "opened", stream: toOpened(stream, controller, dispose) };
    dispose();
    return init.signal.aborted
      ? ABORTED
      : { type: "refused", failure: { type: "timeout", message: "the provider opened no stream in time" } };
  } catch (thrown) {
    dispose();
    if (init.signal.aborted) return ABORTED;
    if (AwakenError.is(thrown)) throw thrown;
    return { type: "refused", failure: classify(thrown) };
  }
}

/** Undefined when the caller gave up or the time was over; what opens after that is closed again. */
async function waitFor(
  opening: Promise<AsyncIterable<StreamPart>>,
  { clock, policy }: OpenInit,
  controller: AbortController,
): Promise<AsyncIterable<StreamPart> | undefined> {
  const stopTimer = clock.timer(policy.openTimeoutMs ?? DEFAULT_OPEN_TIMEOUT_MS, () => controller.abort());
  try {
    const raced = await raceAbort(opening, controller.signal);
    if (raced.type === "value") return raced.value;
  } finally {
    stopTimer();
  }
  opening.then(
    (stream) => closeIterator(stream[Symbol.asyncIterator]()),
    () => {},
  );
  return undefined;
}

function toOpened(stream: AsyncIterable<StreamPart>, controller: AbortController, dispose: () => void): OpenedStream {
  const iterator = stream[Symbol.asyncIterator]();
  return {
    iterator,
    signal: controller.signal,
    release(isDrained) {
      dispose();
      if (isDrained) return;
      controller.abort();
      closeIterator(iterator);
    },
  };
}

/** As `sleep`, and a wait of nothing sets no timer. */
export function pause(clock: Clock, ms: number, signal: AbortSignal): Promise<boolean> {
  return ms > 0 ? sleep(clock, ms, signal) : Promise.resolve(!signal.aborted);
}
