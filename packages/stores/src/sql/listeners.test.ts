import { describe, expect, test } from "vitest";
import { Bell, Bells, Broadcast } from "./listeners.ts";

const never = new AbortController().signal;

/** Whether it is settled once everything that was set off has run: a test must fail, not hang. */
async function isSettled(promise: Promise<unknown>): Promise<boolean> {
  let settled = false;
  promise.then(
    () => (settled = true),
    () => (settled = true),
  );
  await new Promise((resolve) => setImmediate(resolve));
  return settled;
}

/** What the listener hears without waiting for more. */
async function heardNow<T>(listening: AsyncIterable<T>): Promise<{ readonly heard: readonly T[]; readonly isOver: boolean }> {
  const heard: T[] = [];
  const reading = (async () => {
    for await (const item of listening) heard.push(item);
  })();
  return { isOver: await isSettled(reading), heard };
}

describe("bells", () => {
  test("a ring between two waits is not lost", async () => {
    const bell = new Bell([never]);
    const bells = new Bells();
    bells.hang("log", bell);
    bells.ring("other");
    const quiet = bell.wait();
    expect(await isSettled(quiet)).toBe(false);
    bells.ring("log");
    expect(await isSettled(quiet)).toBe(true);
    bells.ring("log");
    expect(await isSettled(bell.wait())).toBe(true);
    const waiting = bell.wait();
    expect(await isSettled(waiting)).toBe(false);
    bells.ringAll();
    expect(await isSettled(waiting)).toBe(true);
  });

  test("an abort ends every wait", async () => {
    const leave = new AbortController();
    const bell = new Bell([never, leave.signal]);
    const waiting = bell.wait();
    expect(await isSettled(waiting)).toBe(false);
    leave.abort();
    expect(await isSettled(waiting)).toBe(true);
    expect(await isSettled(bell.wait())).toBe(true);
  });

  test("what was taken down is not kept", () => {
    const bells = new Bells();
    const down = [bells.hang("log", new Bell([never])), bells.hang("log", new Bell([never]))];
    for (const take of down) {
      expect(bells.size).toBe(1);
      take();
      take();
    }
    expect(bells.size).toBe(0);
  });
});

describe("broadcast", () => {
  test("reaches those who listen and take it, from their call on", async () => {
    const broadcast = new Broadcast<number>();
    broadcast.send(0);
    const even = broadcast.listen([never], (item) => (item % 2 === 0 ? item * 10 : undefined));
    for (const item of [1, 2, 3, 4]) broadcast.send(item);
    const iterator = even[Symbol.asyncIterator]();
    const next = [iterator.next(), iterator.next()];
    expect(await isSettled(Promise.all(next))).toBe(true);
    expect((await Promise.all(next)).map(({ value }) => value)).toEqual([20, 40]);
    const later = iterator.next();
    expect(await isSettled(later)).toBe(false);
    broadcast.send(5);
    expect(await isSettled(later)).toBe(false);
    broadcast.send(6);
    expect(await isSettled(later)).toBe(true);
    const left = iterator.return?.() ?? Promise.reject(new Error("a listener can leave"));
    expect(await isSettled(left)).toBe(true);
    expect(broadcast.size).toBe(0);
  });

  test("a listener that does not read misses what is too much, and nobody waits for it", () => {
    const broadcast = new Broadcast<number>();
    broadcast.listen([never], (item) => item);
    for (let item = 0; item < 5_000; item++) broadcast.send(item);
    expect(broadcast.size).toBe(1);
  });

  test("nobody listens after an abort", async () => {
    const broadcast = new Broadcast<number>();
    const leave = new AbortController();
    const listening = broadcast.listen([leave.signal], (item) => item);
    leave.abort();
    expect(broadcast.size).toBe(0);
    broadcast.send(1);
    expect(await heardNow(listening)).toEqual({ heard: [], isOver: true });
    expect(await heardNow(broadcast.listen([leave.signal], (item) => item))).toEqual({ heard: [], isOver: true });
  });
});
