import {
  type AgentEvent,
  AwakenError,
  INFERENCE_FAILURES,
  InferenceError,
  type InferenceFailure,
  type InferenceRequest,
  type Provider,
  type StreamPart,
} from "@awaken/contract";
import { onAbort, raceAbort } from "../stream/abort.ts";
import { type Clock, sleep } from "../stream/clock.ts";
import { asksTooMuch, backoffMs } from "./backoff.ts";
import { classify } from "./classify.ts";
import { openWindowMs } from "./idle-window.ts";
import type { InferencePolicy } from "./policy.ts";

/** A stream to read. It does not hear of the caller's abort by itself: whoever reads it breaks it off. */
export class OpenedStream {
  readonly type = "opened";
  readonly iterator: AsyncIterator<StreamPart>;
  /** Since when the provider owes a sign of life. */
  readonly askedAt: number;
  readonly #controller: AbortController;

  constructor(stream: AsyncIterable<StreamPart>, askedAt: number, controller: AbortController) {
    this.iterator = stream[Symbol.asyncIterator]();
    this.askedAt = askedAt;
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
  readonly emit: (event: AgentEvent) => void;
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
  const { policy } = init;
  let opened = await first;
  for (let retry = 0; opened.type === "refused" && retry < policy.maxRetries && isTransient(opened.failure); retry++) {
    if (asksTooMuch(policy, opened.failure)) break;
    if (!(await waitToRetry(init, opened.failure.message, retry + 1, backoffMs(policy, opened.failure, retry)))) return ABORTED;
    opened = await openOnce(init, request);
  }
  return opened;
}

/** Tells whoever listens why nothing comes, and waits. False when it was aborted. */
export function waitToRetry({ clock, signal, emit }: OpenInit, reason: string, attempt: number, delayMs: number): Promise<boolean> {
  emit({ type: "inference-retry", attempt, delayMs, reason });
  return pause(clock, delayMs, signal);
}

interface Opening extends OpenInit {
  readonly askedAt: number;
  readonly limitMs: number;
  readonly controller: AbortController;
}

function openOnce(init: OpenInit, request: InferenceRequest): Opened | Promise<Opened> {
  const { clock, policy, provider, signal } = init;
  if (signal.aborted) return ABORTED;
  const controller = new AbortController();
  const askedAt = clock.now();
  try {
    const opening = provider.stream(request, { signal: controller.signal, maxRetryAfterMs: policy.maxRetryAfterMs });
    if (Symbol.asyncIterator in opening) return new OpenedStream(opening, askedAt, controller);
    return openLater(opening, { ...init, askedAt, limitMs: openWindowMs(policy, request), controller });
  } catch (thrown) {
    return refused(init, thrown);
  }
}

const lateFailure = (ms: number): InferenceFailure => ({ type: "timeout", message: `the provider opened no stream within ${ms / 1000} s` });

async function openLater(stream: Promise<AsyncIterable<StreamPart>>, opening: Opening): Promise<Opened> {
  try {
    const opened = await waitFor(stream, opening);
    if (opened !== undefined) return new OpenedStream(opened, opening.askedAt, opening.controller);
  } catch (thrown) {
    return refused(opening, thrown);
  }
  return opening.signal.aborted ? ABORTED : { type: "refused", failure: lateFailure(opening.limitMs) };
}

function refused({ signal }: OpenInit, thrown: unknown): Opened {
  if (signal.aborted) return ABORTED;
  if (AwakenError.is(thrown)) throw thrown;
  return { type: "refused", failure: classify(thrown) };
}

const NOTHING = () => {};

/** Undefined when the caller gave up or the time was over; what opens after that is closed again. */
async function waitFor(
  opening: Promise<AsyncIterable<StreamPart>>,
  { clock, signal, limitMs, controller }: Opening,
): Promise<AsyncIterable<StreamPart> | undefined> {
  const off = onAbort(signal, () => controller.abort(signal.reason));
  // The reason tells a pool that its member was slow, and not that nobody wants an answer any more.
  const giveUp = () => controller.abort(new InferenceError(lateFailure(limitMs)));
  const stopTimer = Number.isFinite(limitMs) ? clock.timer(limitMs, giveUp) : NOTHING;
  try {
    const raced = await raceAbort(opening, controller.signal);
    if (raced.type === "value") return raced.value;
  } finally {
    off();
    stopTimer();
  }
  opening.then((stream) => closeIterator(stream[Symbol.asyncIterator]()), NOTHING);
  return undefined;
}

/** As `sleep`, and a wait of nothing sets no timer. */
export function pause(clock: Clock, ms: number, signal: AbortSignal): Promise<boolean> {
  return ms > 0 ? sleep(clock, ms, signal) : Promise.resolve(!signal.aborted);
}
