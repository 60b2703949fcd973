import { describe, expect, test } from "vitest";
import { Bell, Bells, Broadcast } from "./listeners.ts";

const never = new AbortController().signal;

describe("bells", () => {
  test("a ring between two waits is not lost", async () => {
    const bell = new Bell([never]);
    const bells = new Bells();
    bells.hang("log", bell);
    bells.ring("other");
    bells.ring("log");
    await bell.wait();
    const waiting = bell.wait();
    bells.ringAll();
    await waiting;
  });

  test("an abort ends every wait", async () => {
    const leave = new AbortController();
    const bell = new Bell([never, leave.signal]);
    const waiting = bell.wait();
    leave.abort();
    await waiting;
    await bell.wait();
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
    const heard: number[] = [];
    for await (const item of even) if (heard.push(item) === 2) break;
    expect(heard).toEqual([20, 40]);
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
    for await (const _ of listening) expect.fail();
    for await (const _ of broadcast.listen([leave.signal], (item) => item)) expect.fail();
  });
});
