import type { StreamPart } from "@awaken/contract";
import { onAbort } from "../stream/abort.ts";
import type { Clock } from "../stream/clock.ts";

/** How a stream ended: read to its end, given up by the caller, silent for too long, or broken. */
export type StreamEnd =
  | { readonly type: "drained" }
  | { readonly type: "aborted" }
  | { readonly type: "stalled" }
  | { readonly type: "broken"; readonly thrown: unknown };

export interface ReadInit {
  readonly iterator: AsyncIterator<StreamPart>;
  readonly signal: AbortSignal;
  readonly clock: Clock;
  /** Silence that counts as a stall; 0 waits for ever. */
  readonly idleMs: number;
  /** Answers whether the stream has said all that matters: a failure after that is no failure. */
  readonly take: (part: StreamPart) => boolean;
}

const DRAINED: StreamEnd = { type: "drained" };
const ABORTED: StreamEnd = { type: "aborted" };
const STALLED: StreamEnd = { type: "stalled" };

/** How long a stream that said its last word may take to close. */
const CLOSING_MS = 1000;

/**
 * Reads a stream to its end. Costs one abort listener and one timer per stream, none per part; when this resolves both are gone.
 * The iterator is not closed here. What `take` throws is thrown on.
 */
export function readStream({ iterator, signal, clock, idleMs, take }: ReadInit): Promise<StreamEnd> {
  return new Promise((resolve, reject) => {
    let isOver = false;
    let hasSaidAll = false;
    let lastPartAt = clock.now();
    let stopTimer = () => {};
    let off = () => {};
    const finish = () => {
      isOver = true;
      stopTimer();
      off();
    };
    const end = (how: StreamEnd) => {
      if (isOver) return;
      finish();
      resolve(how);
    };
    const watch = (ms: number) => {
      stopTimer = clock.timer(ms, () => {
        const quietMs = clock.now() - lastPartAt;
        if (hasSaidAll) end(DRAINED);
        else if (quietMs >= idleMs) end(STALLED);
        else watch(idleMs - quietMs);
      });
    };
    const pump = async () => {
      for (;;) {
        let step: IteratorResult<StreamPart, unknown>;
        try {
          step = await iterator.next();
        } catch (thrown) {
          end(hasSaidAll ? DRAINED : { type: "broken", thrown });
          return;
        }
        if (isOver) return;
        if (step.done === true) {
          end(DRAINED);
          return;
        }
        lastPartAt = clock.now();
        if (take(step.value) && !hasSaidAll) {
          hasSaidAll = true;
          stopTimer();
          watch(CLOSING_MS);
        }
      }
    };
    if (idleMs > 0) watch(idleMs);
    off = onAbort(signal, () => end(ABORTED));
    if (isOver) return;
    pump().catch((thrown) => {
      finish();
      reject(thrown);
    });
  });
}
