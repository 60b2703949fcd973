import { type AgentEvent, threadId } from "@awaken/contract";
import type { LiveStore, QueueStore } from "@awaken/contract/store";
import { describe, expect, test } from "vitest";
import * as z from "zod";
import type { RuntimeInit } from "../create-runtime.ts";
import { type FakeClock, fakeClock } from "../testing/fake-clock.ts";
import { stall, text, toolCall } from "../testing/script.ts";
import type { ScriptStep } from "../testing/scripted.ts";
import { defineTool } from "../tool/define-tool.ts";
import { ask } from "../tool/verdict.ts";
import { open as openScripted } from "./open.test-support.ts";
import { STORES } from "./stores.test-support.ts";

// Whoever leaves the events of a run that goes on elsewhere leaves nobody behind who looks for him. Its result is still waited for.

const pay = defineTool({ id: "pay", description: "", input: z.object({}), approve: () => ask("Pay?"), execute: () => "paid" });

const open = (store: QueueStore, turns: readonly ScriptStep[], init: Partial<RuntimeInit> = {}) =>
  openScripted(store, turns, { tools: [pay], limits: { storeMs: 3_600_000 }, ...init });

/** How many follow a log, and listen to others, at the moment. */
function counting(store: QueueStore) {
  const counts = { follows: 0, listens: 0 };
  const { live } = store;
  if (live === undefined) throw new Error("a store without a live port");
  const count = (what: keyof typeof counts, leave: () => void) => {
    counts[what] += 1;
    let isOver = false;
    return () => {
      counts[what] -= isOver ? 0 : 1;
      isOver = true;
      leave();
    };
  };
  const counted: LiveStore = {
    follow: (...given) => count("follows", live.follow(...given)),
    listen: (receive) => count("listens", live.listen(receive)),
    send: (parcel) => live.send(parcel),
  };
  return { counts, store: { ...store, live: counted } };
}

/** One who waits for the result looks at one log with one timer; he who read the events had as much, and heard of other processes. */
const ONLY_RESULT = { follows: 1, listens: 0, timers: 1 };
const state = (counts: { follows: number; listens: number }, clock: FakeClock) => ({ ...counts, timers: clock.pendingTimers });

async function readUntil(events: AsyncIterator<AgentEvent>, type: AgentEvent["type"]): Promise<void> {
  for (let next = await events.next(); next.value?.type !== type; next = await events.next()) {
    if (next.done === true) throw new Error(`no ${type}`);
  }
}

const statuses = async (store: QueueStore, run: { readonly threadId: Parameters<QueueStore["dispatches"]["list"]>[0] }) =>
  (await store.dispatches.list(run.threadId, {})).map(({ status }) => status);

describe.each(STORES)("whoever leaves, on %s", (_, make) => {
  test("a stream whose run left this process ends its follower at once, and has its result when that comes", async () => {
    await using inner = make();
    const { counts, store } = counting(inner);
    const clock = fakeClock(1_000);
    await using first = open(store, [stall(text("Half ", "of ", "it"), 2)], { clock, yieldBefore: () => 6_000 });
    const run = first.stream({ thread: "t", input: "x" });
    const events = run[Symbol.asyncIterator]();
    await readUntil(events, "text-delta");
    await clock.advance(5_000);
    await expect.poll(() => statuses(inner, run)).toEqual(["queued"]);
    await expect.poll(() => state(counts, clock)).toEqual({ follows: 2, listens: 1, timers: 2 });
    await events.return?.();
    expect(counts).toEqual({ follows: 1, listens: 0 });
    await expect.poll(() => state(counts, clock)).toEqual(ONLY_RESULT);
    await using second = open(inner, [text("done")], { clock: fakeClock(7_000) });
    expect(await second.wait(run.id)).toMatchObject({ status: "done" });
    expect(await run.result).toMatchObject({ status: "done", text: "done" });
    expect(state(counts, clock)).toEqual({ follows: 0, listens: 0, timers: 0 });
  });

  test("a stream before its run left this process has no follower then", async () => {
    await using inner = make();
    const { counts, store } = counting(inner);
    const clock = fakeClock(1_000);
    await using first = open(store, [stall(text("Half ", "of ", "it"), 2)], { clock, yieldBefore: () => 6_000 });
    const run = first.stream({ thread: "t", input: "x" });
    const events = run[Symbol.asyncIterator]();
    await readUntil(events, "text-delta");
    await events.return?.();
    await clock.advance(5_000);
    await expect.poll(() => state(counts, clock)).toEqual(ONLY_RESULT);
    await using second = open(inner, [text("done")], { clock: fakeClock(7_000) });
    expect(await run.result).toMatchObject({ status: "done", text: "done" });
    await second.close();
  });

  test("the stream of a run that another process executes ends its follower at once", async () => {
    await using inner = make();
    const { counts, store } = counting(inner);
    const clock = fakeClock(1_000);
    await using owner = open(inner, [stall(text("a ", "b"), 1), toolCall("pay", {})]);
    const before = owner.stream({ thread: "t", input: "x" });
    await readUntil(before[Symbol.asyncIterator](), "text-delta");
    await using reader = open(store, [], { clock, workers: false });
    const run = reader.stream({ thread: "t", input: "y", onBusy: "queue" });
    const events = run[Symbol.asyncIterator]();
    const next = events.next();
    await expect.poll(() => counts).toEqual({ follows: 2, listens: 1 });
    await events.return?.();
    expect(await next).toEqual({ done: true, value: undefined });
    expect(counts).toEqual({ follows: 1, listens: 0 });
    // What the store was just asked for has a timer, too.
    await expect.poll(() => state(counts, clock)).toEqual(ONLY_RESULT);
    await owner.cancel(before.id);
    expect(await run.result).toMatchObject({ status: "waiting" });
  });

  test("an attached reader who aborts and never asks again leaves nothing behind", async () => {
    await using inner = make();
    const { counts, store } = counting(inner);
    const clock = fakeClock(1_000);
    await using owner = open(inner, [stall(text("a ", "b"), 1)]);
    await using reader = open(store, [], { clock, workers: false });
    const run = owner.stream({ thread: "t", input: "x" });
    await readUntil(run[Symbol.asyncIterator](), "text-delta");
    const leaving = new AbortController();
    const events = reader.attach(run.id, { signal: leaving.signal })[Symbol.asyncIterator]();
    await events.next();
    expect(counts).toEqual({ follows: 1, listens: 1 });
    leaving.abort();
    expect(counts).toEqual({ follows: 0, listens: 0 });
    await expect.poll(() => clock.pendingTimers).toBe(0);
    expect(await events.next()).toEqual({ done: true, value: undefined });
    await owner.cancel(run.id);
    await run.result;
  });

  test("an attached reader who leaves as soon as he knows all that is there leaves no timer behind, also where a store wakes nobody", async () => {
    await using inner = make();
    const { live: _live, ...silent } = inner;
    const clock = fakeClock(1_000);
    await using runtime = open(silent, [], { clock, workers: false });
    await inner.threads.create({ id: threadId("t") });
    const leaving = new AbortController();
    const events = runtime.attach("t", { signal: leaving.signal, onCaughtUp: () => leaving.abort() })[Symbol.asyncIterator]();
    expect(await events.next()).toEqual({ done: true, value: undefined });
    expect(clock.pendingTimers).toBe(0);
  });
});
