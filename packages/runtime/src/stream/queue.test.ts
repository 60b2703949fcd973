import { describe, expect, it } from "vitest";
import { countedSignal } from "./counted-signal.test-support.ts";
import { Queue } from "./queue.ts";
import { whenReady } from "./queue-ready.ts";

/** Whether the promise is settled by now. */
const isSettled = async (promise: Promise<unknown>): Promise<boolean> => {
  const open = Symbol("open");
  await new Promise((resolve) => setImmediate(resolve));
  return (await Promise.race([promise, Promise.resolve(open)])) !== open;
};

describe("Queue", () => {
  it("keeps what was pushed and drains it in order, once", () => {
    const queue = new Queue<number>();
    expect([queue.push(1), queue.push(2)]).toEqual([true, true]);
    expect(queue.size).toBe(2);
    expect(queue.drain()).toEqual([1, 2]);
    expect(queue.drain()).toEqual([]);
  });

  it("does not put later items into a list that was drained before", () => {
    const queue = new Queue<number>();
    const drained = queue.drain();
    queue.push(1);
    expect(drained).toEqual([]);
    expect(queue.drain()).toEqual([1]);
  });

  it("takes nothing after it was closed, and keeps what it has", () => {
    const queue = new Queue<number>();
    queue.push(1);
    queue.close();
    expect(queue.push(2)).toBe(false);
    expect(queue.isClosed).toBe(true);
    expect(queue.drain()).toEqual([1]);
  });

  it("is ready at once when there is an item, when it is closed, or when the signal has aborted", async () => {
    const full = new Queue<number>();
    full.push(1);
    expect(await isSettled(whenReady(full))).toBe(true);
    const closed = new Queue<number>();
    closed.close();
    expect(await isSettled(whenReady(closed))).toBe(true);
    expect(await isSettled(whenReady(new Queue<number>(), AbortSignal.abort()))).toBe(true);
  });

  it("becomes ready by a push, by close, and by abort", async () => {
    const queue = new Queue<number>();
    const byPush = whenReady(queue);
    expect(await isSettled(byPush)).toBe(false);
    queue.push(1);
    expect(await isSettled(byPush)).toBe(true);
    queue.drain();

    const { controller, counts } = countedSignal();
    const byAbort = whenReady(queue, controller.signal);
    expect(await isSettled(byAbort)).toBe(false);
    controller.abort();
    expect(await isSettled(byAbort)).toBe(true);
    expect(counts.open).toBe(0);

    const byClose = whenReady(queue);
    expect(await isSettled(byClose)).toBe(false);
    queue.close();
    expect(await isSettled(byClose)).toBe(true);
  });

  it("wakes readers that wait with different signals, and leaves no listener on any", async () => {
    const queue = new Queue<number>();
    const [one, two] = [countedSignal(), countedSignal()];
    const waits = [whenReady(queue), whenReady(queue, one.controller.signal), whenReady(queue, two.controller.signal)];
    expect(await Promise.all(waits.map(isSettled))).toEqual([false, false, false]);
    queue.push(1);
    expect(await Promise.all(waits.map(isSettled))).toEqual([true, true, true]);
    expect([one.counts.open, two.counts.open]).toEqual([0, 0]);
  });

  it("does not pile up listeners when a wait is given up and begun again", async () => {
    const queue = new Queue<number>();
    const { controller, counts } = countedSignal();
    for (let n = 0; n < 100; n++) await Promise.race([whenReady(queue, controller.signal), Promise.resolve()]);
    expect(counts.open).toBe(1);
    const last = whenReady(queue, controller.signal);
    queue.push(1);
    expect(await isSettled(last)).toBe(true);
    expect(counts.open).toBe(0);
  });
});

describe("a queue that is closed", () => {
  it("multi-agent 56: each send that comes too late is false and handed on once; one that only tries is not", () => {
    const queue = new Queue<number>();
    const late: number[] = [];
    queue.onRefused = (item) => late.push(item);
    expect(queue.push(1)).toBe(true);
    queue.close();
    expect([queue.push(2), queue.push(2), queue.tryPush(3)]).toEqual([false, false, false]);
    expect(late).toEqual([2, 2]);
    expect(queue.drain()).toEqual([1]);
  });
});
