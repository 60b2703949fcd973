import { AwakenError, type InferenceRequest, type StreamPart } from "@awaken/contract";
import { onAbort, raceAbort } from "../stream/abort.ts";
import { elapsedOn } from "../stream/clock.ts";
import { whenThere } from "../stream/door.ts";
import { openWindowMs } from "./idle-window.ts";
import { closeIterator, OpenedStream } from "./opened-stream.ts";
import { seldom } from "./seldom-door.ts";
import type { Aborted, Opened, OpenInit, Tried } from "./stream-outcome.ts";

const ABORTED: Aborted = { type: "aborted" };

/**
 * Opens a stream, again after transient failures as often as the policy says. What was opened is out of its hands. A provider that
 * gives a stream at once costs no promise.
 */
export function openStream(init: OpenInit, request: InferenceRequest): Opened | Promise<Opened> {
  const tryOnce = () => openOnce(init, request);
  return whenThere(tryOnce(), (tried): Opened | Promise<Opened> => {
    if (tried.type !== "thrown") return tried;
    return whenThere(seldom.open(), ({ openAgain }) => openAgain(init, tried.thrown, tryOnce));
  });
}

interface Opening {
  readonly init: OpenInit;
  readonly askedAt: number;
  readonly limitMs: number;
  readonly controller: AbortController;
}

function openOnce(init: OpenInit, request: InferenceRequest): Tried | Promise<Tried> {
  const { clock, policy, provider, signal } = init;
  if (signal.aborted) return ABORTED;
  const controller = new AbortController();
  const askedAt = elapsedOn(clock);
  try {
    const opening = provider.stream(request, { signal: controller.signal, maxRetryAfterMs: policy.maxRetryAfterMs });
    if (Symbol.asyncIterator in opening) return new OpenedStream(opening, askedAt, controller);
    return openLater(opening, { init, askedAt, limitMs: openWindowMs(policy, request), controller });
  } catch (thrown) {
    return refused(init, thrown);
  }
}

async function openLater(stream: Promise<AsyncIterable<StreamPart>>, opening: Opening): Promise<Tried> {
  try {
    const opened = await waitFor(stream, opening);
    if (opened !== undefined) return new OpenedStream(opened, opening.askedAt, opening.controller);
  } catch (thrown) {
    return refused(opening.init, thrown);
  }
  return refused(opening.init, opening.controller.signal.reason);
}

function refused({ signal }: OpenInit, thrown: unknown): Tried {
  if (signal.aborted) return ABORTED;
  if (AwakenError.is(thrown)) throw thrown;
  return { type: "thrown", thrown };
}

async function openedTooLate(limitMs: number): Promise<unknown> {
  try {
    return (await seldom.open()).tooLate(limitMs);
  } catch (thrown) {
    return thrown;
  }
}

const NOTHING = () => {};

/** Undefined when the caller gave up or the time was over; what opens after that is closed again. */
async function waitFor(
  opening: Promise<AsyncIterable<StreamPart>>,
  { init: { clock, signal }, limitMs, controller }: Opening,
): Promise<AsyncIterable<StreamPart> | undefined> {
  const off = onAbort(signal, () => controller.abort(signal.reason));
  // The reason tells a pool that its member was slow, and not that nobody wants an answer any more.
  let isWaiting = true;
  const giveUp = () =>
    void openedTooLate(limitMs).then((reason) => {
      // What was opened while the reason was loaded is in time: nobody breaks it off.
      if (isWaiting) controller.abort(reason);
    });
  const stopTimer = Number.isFinite(limitMs) ? clock.timer(limitMs, giveUp) : NOTHING;
  try {
    const raced = await raceAbort(opening, controller.signal);
    if (raced.type === "value") return raced.value;
  } finally {
    isWaiting = false;
    off();
    stopTimer();
  }
  opening.then((stream) => closeIterator(stream[Symbol.asyncIterator]()), NOTHING);
  return undefined;
}
