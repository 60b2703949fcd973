import {
  AwakenError,
  INFERENCE_FAILURES,
  type InferenceFailure,
  type InferenceRequest,
  type Provider,
  type StreamPart,
} from "@awaken/contract";
import { onAbort, raceAbort } from "../stream/abort.ts";
import { type Clock, sleep } from "../stream/clock.ts";
import { backoffMs } from "./backoff.ts";
import { classify } from "./classify.ts";
import { DEFAULT_OPEN_TIMEOUT_MS, type InferencePolicy } from "./policy.ts";

/** A stream to read. It does not hear of the caller's abort by itself: whoever reads it breaks it off. */
export class OpenedStream {
  readonly type = "opened";
  readonly iterator: AsyncIterator<StreamPart>;
  readonly #controller: AbortController;

  constructor(stream: AsyncIterable<StreamPart>, controller: AbortController) {
    this.iterator = stream[Symbol.asyncIterator]();
    this.#controller = controller;
  }

  /** Tells the provider to stop. */
  abort(reason: unknown): void {
    this.#controller.abort(reason);
  }

  /** To be called once. A stream that did not close by itself is broken off. */
  release(isClosed: boolean): void {
    if (isClosed) return;
    this.#controller.abort();
    closeIterator(this.iterator);
  }
}

export type Opened = OpenedStream | { readonly type: "refused"; readonly failure: InferenceFailure } | { readonly type: "aborted" };

/** Whom to ask, and how long to try. */
export interface OpenInit {
  readonly provider: Provider;
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

/**
 * Opens a stream, again after transient failures as often as the policy says. What was opened is out of its hands. A provider that
 * gives a stream at once costs no promise.
 */
export function openStream(init: OpenInit, request: InferenceRequest): Opened | Promise<Opened> {
  const opened = openOnce(init, request);
  return opened instanceof Promise || opened.type === "refused" ? persist(init, request, opened) : opened;
}

async function persist(init: OpenInit, request: InferenceRequest, first: Opened | Promise<Opened>): Promise<Opened> {
  const { clock, policy, signal } = init;
  let opened = await first;
  for (let retry = 0; opened.type === "refused" && retry < policy.maxRetries && isTransient(opened.failure); retry++) {
    if (!(await pause(clock, backoffMs(policy, opened.failure, retry), signal))) return ABORTED;
    opened = await openOnce(init, request);
  }
  return opened;
}

function openOnce(init: OpenInit, request: InferenceRequest): Opened | Promise<Opened> {
  if (init.signal.aborted) return ABORTED;
  const controller = new AbortController();
  try {
    const opening = init.provider.stream(request, { signal: controller.signal });
    if (Symbol.asyncIterator in opening) return new OpenedStream(opening, controller);
    return openLater(opening, init, controller);
  } catch (thrown) {
    return refused(init, thrown);
  }
}

async function openLater(opening: Promise<AsyncIterable<StreamPart>>, init: OpenInit, controller: AbortController): Promise<Opened> {
  try {
    const stream = await waitFor(opening, init, controller);
    if (stream !== undefined) return new OpenedStream(stream, controller);
  } catch (thrown) {
    return refused(init, thrown);
  }
  return init.signal.aborted
    ? ABORTED
    : { type: "refused", failure: { type: "timeout", message: "the provider opened no stream in time" } };
}

function refused({ signal }: OpenInit, thrown: unknown): Opened {
  if (signal.aborted) return ABORTED;
  if (AwakenError.is(thrown)) throw thrown;
  return { type: "refused", failure: classify(thrown) };
}

/** Undefined when the caller gave up or the time was over; what opens after that is closed again. */
async function waitFor(
  opening: Promise<AsyncIterable<StreamPart>>,
  { clock, policy, signal }: OpenInit,
  controller: AbortController,
): Promise<AsyncIterable<StreamPart> | undefined> {
  const off = onAbort(signal, () => controller.abort(signal.reason));
  const stopTimer = clock.timer(policy.openTimeoutMs ?? DEFAULT_OPEN_TIMEOUT_MS, () => controller.abort());
  try {
    const raced = await raceAbort(opening, controller.signal);
    if (raced.type === "value") return raced.value;
  } finally {
    off();
    stopTimer();
  }
  opening.then(
    (stream) => closeIterator(stream[Symbol.asyncIterator]()),
    () => {},
  );
  return undefined;
}

/** As `sleep`, and a wait of nothing sets no timer. */
export function pause(clock: Clock, ms: number, signal: AbortSignal): Promise<boolean> {
  return ms > 0 ? sleep(clock, ms, signal) : Promise.resolve(!signal.aborted);
}
