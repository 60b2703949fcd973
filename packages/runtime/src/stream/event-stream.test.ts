import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { describe, expect, it } from "vitest";
import { EventStream } from "./event-stream.ts";

const collect = async <E>(stream: AsyncIterable<E>): Promise<E[]> => {
  const events: E[] = [];
  for await (const event of stream) events.push(event);
  return events;
};

describe("EventStream", () => {
  it("keeps what was pushed before the reader came, in order, then ends", async () => {
    const stream = new EventStream<number, string>();
    stream.push(1);
    stream.push(2);
    stream.end("done");
    expect(await collect(stream)).toEqual([1, 2]);
    expect(await stream.result).toBe("done");
  });

  it("hands an event to a reader who waits for it", async () => {
    const stream = new EventStream<number, undefined>();
    const reading = collect(stream);
    await Promise.resolve();
    stream.push(1);
    await Promise.resolve();
    stream.push(2);
    stream.end(undefined);
    expect(await reading).toEqual([1, 2]);
  });

  it("gives each of several open reads its own event, and ends them all", async () => {
    const stream = new EventStream<number, undefined>();
    const reader = stream[Symbol.asyncIterator]();
    const reads = [reader.next(), reader.next(), reader.next()];
    stream.push(1);
    stream.push(2);
    stream.end(undefined);
    expect(await Promise.all(reads)).toEqual([
      { value: 1, done: false },
      { value: 2, done: false },
      { value: undefined, done: true },
    ]);
  });

  it("refuses a second reader", () => {
    const stream = new EventStream<number, undefined>();
    stream[Symbol.asyncIterator]();
    expect(() => stream[Symbol.asyncIterator]()).toThrow(TypeError);
  });

  it("tells whoever feeds it that its reader has left, once, also when he asks afterwards, and not when he took that back", async () => {
    const stream = new EventStream<number, string>();
    const told: string[] = [];
    stream.onDetach(() => told.push("taken back"))();
    stream.onDetach(() => told.push("left"));
    stream.push(1);
    for await (const _event of stream) break;
    stream.detach();
    stream.onDetach(() => told.push("late"));
    expect(told).toEqual(["left", "late"]);
  });

  it("lets a reader leave: the producer goes on, later events are dropped, the result comes", async () => {
    const stream = new EventStream<number, string>();
    stream.push(1);
    stream.push(2);
    for await (const event of stream) {
      expect(event).toBe(1);
      break;
    }
    stream.push(3);
    stream.end("done");
    expect(await stream.result).toBe("done");
  });

  it("ends an open read at once when the reader leaves", async () => {
    const stream = new EventStream<number, undefined>();
    const reader = stream[Symbol.asyncIterator]();
    const open = reader.next();
    await reader.return?.();
    expect(await open).toEqual({ value: undefined, done: true });
    expect(await reader.next()).toEqual({ value: undefined, done: true });
  });

  it("gives nothing to a reader who comes after detach, and still the result", async () => {
    const stream = new EventStream<number, string>();
    stream.push(1);
    stream.detach();
    stream.push(2);
    stream.end("done");
    expect(await collect(stream)).toEqual([]);
    expect(await stream.result).toBe("done");
  });

  it("fails the reader once, after the events that came before, and rejects the result", async () => {
    const stream = new EventStream<number, string>();
    const broken = new Error("broken");
    stream.push(1);
    stream.fail(broken);
    const reader = stream[Symbol.asyncIterator]();
    expect(await reader.next()).toEqual({ value: 1, done: false });
    await expect(reader.next()).rejects.toBe(broken);
    expect(await reader.next()).toEqual({ value: undefined, done: true });
    await expect(stream.result).rejects.toBe(broken);
  });

  it("fails an open read", async () => {
    const stream = new EventStream<number, string>();
    const open = stream[Symbol.asyncIterator]().next();
    stream.fail(new Error("broken"));
    await expect(open).rejects.toThrow("broken");
  });

  it("does not tell a reader who left about a later failure", async () => {
    const stream = new EventStream<number, string>();
    const reader = stream[Symbol.asyncIterator]();
    await reader.return?.();
    stream.fail(new Error("broken"));
    expect(await reader.next()).toEqual({ value: undefined, done: true });
  });

  it("counts only the first end or failure", async () => {
    const ended = new EventStream<number, string>();
    ended.end("first");
    ended.end("second");
    ended.fail(new Error("late"));
    ended.push(1);
    expect(await collect(ended)).toEqual([]);
    expect(await ended.result).toBe("first");

    const failed = new EventStream<number, string>();
    failed.fail(new Error("first"));
    failed.end("late");
    await expect(failed.result).rejects.toThrow("first");
    await expect(collect(failed)).rejects.toThrow("first");
  });

  it("does not raise an unhandled rejection when nobody looks at the result", async () => {
    const seen: unknown[] = [];
    const listener = (reason: unknown) => seen.push(reason);
    process.on("unhandledRejection", listener);
    new EventStream<number, string>().fail(new Error("broken"));
    await new Promise((resolve) => setTimeout(resolve, 5));
    process.off("unhandledRejection", listener);
    expect(seen).toEqual([]);
  });

  it("lets go of events that were read, also when the reader never catches up", async () => {
    const stream = new EventStream<object, undefined>();
    const reader = stream[Symbol.asyncIterator]();
    const first = new WeakRef({ big: "x".repeat(1_000) });
    stream.push(first.deref() ?? {});
    for (let n = 0; n < 4_000; n++) stream.push({ n });
    for (let n = 0; n < 3_000; n++) await reader.next();
    stream.push({ n: "still behind" });
    await new Promise((resolve) => setTimeout(resolve, 1));
    setFlagsFromString("--expose-gc");
    runInNewContext("gc()");
    expect(first.deref()).toBeUndefined();
  });

  it("gives the result also to whoever asks for it after the end", async () => {
    const ended = new EventStream<number, string>();
    ended.end("done");
    ended.fail(new Error("late"));
    expect(await ended.result).toBe("done");
    const failed = new EventStream<number, string>();
    failed.fail(new Error("broken"));
    failed.end("late");
    await expect(failed.result).rejects.toThrow("broken");
    expect(failed.result).toBe(failed.result);
  });

  it("serves reads that wait in the order in which they were asked, also when more are asked meanwhile", async () => {
    const stream = new EventStream<number, undefined>();
    const reader = stream[Symbol.asyncIterator]();
    const first = [reader.next(), reader.next(), reader.next()];
    stream.push(1);
    const second = [reader.next(), reader.next()];
    for (const event of [2, 3, 4]) stream.push(event);
    stream.end(undefined);
    const got = await Promise.all([...first, ...second]);
    expect(got.map(({ value }) => value)).toEqual([1, 2, 3, 4, undefined]);
    expect(await reader.next()).toEqual({ value: undefined, done: true });
  });

  it("keeps order over many interleaved pushes and reads", async () => {
    const stream = new EventStream<number, undefined>();
    const reader = stream[Symbol.asyncIterator]();
    const read: number[] = [];
    let pushed = 0;
    for (let round = 0; round < 200; round++) {
      for (let n = 0; n < 30; n++) stream.push(pushed++);
      for (let n = 0; n < 20; n++) {
        const next = await reader.next();
        if (!next.done) read.push(next.value);
      }
    }
    stream.end(undefined);
    for (let next = await reader.next(); !next.done; next = await reader.next()) read.push(next.value);
    expect(read).toEqual(Array.from({ length: pushed }, (_, n) => n));
  });
});
