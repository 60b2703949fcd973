import { onAbort } from "./abort.ts";
import type { Queue } from "./queue.ts";

/** Resolves when there is something to drain, when the queue closes, or when the signal aborts. */
export function whenReady(queue: Queue<unknown>, signal?: AbortSignal): Promise<void> {
  if (queue.size > 0 || queue.isClosed || signal?.aborted) return Promise.resolve();
  const waits: NonNullable<Queue<unknown>["waits"]> = queue.waits ?? new Map();
  queue.waits = waits;
  const before = waits.get(signal);
  if (before !== undefined) return before.promise;
  const { promise, resolve } = Promise.withResolvers<void>();
  const wake = () => {
    off();
    waits.delete(signal);
    resolve();
  };
  const off = signal === undefined ? () => {} : onAbort(signal, wake);
  waits.set(signal, { promise, wake });
  return promise;
}
