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

function refused({ signal }: OpenInit, thrown: unknown): Tried {
  if (signal.aborted) return ABORTED;
  if (AwakenError.is(thrown)) throw thrown;
  return { type: "thrown", thrown };
}

const NOTHING = () => {};

/** Until it is there, the caller gives up, or the time is over. What opens after that is closed again. */
async function openLater(opening: Promise<AsyncIterable<StreamPart>>, { init, askedAt, limitMs, controller }: Opening): Promise<Tried> {
  const { clock, signal } = init;
  const off = onAbort(signal, () => controller.abort(signal.reason));
  let isWaiting = true;
  const breakOff = (reason: unknown) => {
    // What was opened while the reason was loaded is in time: nobody breaks it off.
    if (isWaiting) controller.abort(reason);
  };
  // The reason tells a pool that its member was slow, and not that nobody wants an answer any more.
  const giveUp = () => void Promise.resolve(seldom.open()).then(({ tooLate }) => breakOff(tooLate(limitMs)), breakOff);
  const stopTimer = Number.isFinite(limitMs) ? clock.timer(limitMs, giveUp) : NOTHING;
  try {
    const raced = await raceAbort(opening, controller.signal);
    if (raced.type === "value") return new OpenedStream(raced.value, askedAt, controller);
  } catch (thrown) {
    return refused(init, thrown);
  } finally {
    isWaiting = false;
    off();
    stopTimer();
  }
  opening.then((stream) => closeIterator(stream[Symbol.asyncIterator]()), NOTHING);
  return refused(init, controller.signal.reason);
}
