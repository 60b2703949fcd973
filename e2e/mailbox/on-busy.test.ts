import { runId } from "@awaken/contract";
import type { QueueStore } from "@awaken/contract/store";
import { memoryStore } from "@awaken/stores/memory";
import { fakeClock, text, toolCall } from "awaken/testing";
import { expect, test } from "vitest";
import * as z from "zod";
import { logOf, open, slow, T } from "./support/open.ts";
import { deaf, onEveryStore } from "./support/stores.ts";

const R = runId("r");
const INSTEAD = { thread: "t", input: "instead", onBusy: "interrupt" } as const;

async function collect<E>(events: AsyncIterable<E>): Promise<E[]> {
  const all: E[] = [];
  for await (const event of events) all.push(event);
  return all;
}

/** A run at work in one process. */
async function busy(store: QueueStore, init: Parameters<typeof open>[2] = {}) {
  const last = slow();
  const runtime = open(store, [toolCall("slow", {}), text("to the end")], { tools: [last.tool], ...init });
  const run = runtime.stream({ thread: "t", runId: R, input: "go" });
  await last.began;
  return { runtime, run, release: last.release };
}

/** Whoever looks what is on a thread for the first time begins when so many have looked. */
function meeting(count: number): (store: QueueStore) => QueueStore {
  const { promise: all, resolve } = Promise.withResolvers<void>();
  let left = count;
  return (store) => {
    let isFirst = true;
    const list: QueueStore["dispatches"]["list"] = async (...given) => {
      const found = await store.dispatches.list(...given);
      if (!isFirst) return found;
      isFirst = false;
      left -= 1;
      if (left === 0) resolve();
      await all;
      return found;
    };
    return { ...store, dispatches: { ...store.dispatches, list } };
  };
}

const openWork = async (store: QueueStore) => (await store.dispatches.list(T, { statuses: ["queued", "claimed"] })).length;

onEveryStore("a thread that is busy", (it) => {
  it("run, stream and start are refused as they ask, and leave nothing", async ({ store, peer }) => {
    const { runtime, run, release } = await busy(store);
    await using b = open(peer, [text("later")]);
    await expect(b.run({ thread: "t", input: "x" })).rejects.toMatchObject({ code: "thread_already_running" });
    await expect(b.stream({ thread: "t", input: "x", onBusy: "refuse" }).result).rejects.toMatchObject({ code: "thread_already_running" });
    await expect(b.start({ thread: "t", input: "x", onBusy: "refuse" })).rejects.toMatchObject({ code: "thread_already_running" });
    await expect(runtime.start({ thread: "t", input: "x", onBusy: "refuse" })).rejects.toMatchObject({ code: "thread_already_running" });
    expect(await store.runs.count({})).toBe(1);
    expect((await store.pending.load(T)).entries).toEqual([]);
    release();
    expect(await run.result).toMatchObject({ status: "done", text: "to the end" });
    const { runId: id } = await b.start({ thread: "t", input: "x", onBusy: "refuse" });
    await expect(b.start({ thread: "t", input: "y", onBusy: "refuse" })).rejects.toMatchObject({ code: "thread_already_running" });
    expect(await b.cancel(id)).toBe(true);
    await runtime.close();
  });

  it("server-and-durability 33: a submit that interrupts cancels the run at work in another process, keeps what it said, and runs", async ({
    store,
    peer,
  }) => {
    const { runtime, run } = await busy(store);
    await using b = open(peer, [text("here I am")]);
    const next = b.stream(INSTEAD);
    const { id } = next;
    expect((await collect(next)).at(-1)).toMatchObject({ type: "run-end", runId: id });
    expect(await next.result).toMatchObject({ status: "done", text: "here I am", runId: id });
    expect(await run.result).toMatchObject({ status: "cancelled" });
    expect(await store.runs.load(R)).toMatchObject({ status: "done", outcome: { termination: { type: "cancelled" } } });
    expect((await logOf(store)).slice(0, 1)).toEqual(["go"]);
    expect((await logOf(store)).slice(-2)).toEqual(["instead", "here I am"]);
    expect(await store.wishes.listOpen(R)).toEqual([]);
    await runtime.close();
  });

  it("the same in one process, and what is queued is cancelled with its message", async ({ store }) => {
    const last = slow();
    await using a = open(store, [toolCall("slow", {}), text("here I am")], { tools: [last.tool] });
    const run = a.stream({ thread: "t", input: "go" });
    await last.began;
    const queued = [await a.start({ thread: "t", input: "one" }), await a.start({ thread: "t", input: "two" })];
    expect(await a.run(INSTEAD)).toMatchObject({ status: "done", text: "here I am" });
    expect(await run.result).toMatchObject({ status: "cancelled" });
    for (const { runId: id } of queued)
      expect(await store.runs.load(id)).toMatchObject({ status: "done", outcome: { termination: { type: "cancelled" } } });
    expect((await store.pending.load(T)).entries).toEqual([]);
    expect(await openWork(store)).toBe(0);
    expect((await store.dispatches.countByStatus()).superseded).toBe(2);
  });

  it("start and send interrupt as well, and what was sent before is read with it", async ({ store, peer }) => {
    const { runtime } = await busy(store);
    await using b = open(peer, []);
    await b.send("t", "before", { mode: "queue" });
    const sent = await b.send("t", "now", { mode: "interrupt" });
    expect(sent).toMatchObject({ status: "queued" });
    expect(await store.runs.load(R)).toMatchObject({ status: "done", outcome: { termination: { type: "cancelled" } } });
    const { runId: id } = await b.start({ thread: "t", input: "no, this", onBusy: "interrupt" });
    await using worker = open(peer, [text("one"), text("two")], { workers: true });
    expect(await worker.wait(id)).toMatchObject({ status: "done" });
    await expect.poll(() => logOf(store)).toContain("now");
    expect(await logOf(store)).toContain("before");
    await expect.poll(() => openWork(store)).toBe(0);
    expect((await store.pending.load(T)).entries).toEqual([]);
    await runtime.close();
  });

  it("server-and-durability 34: when the last commit of the run at work does not come, the submit is refused and nothing was written", async ({
    store,
    peer,
  }) => {
    // It hears of nothing, and renews nothing in the time of this test.
    const { runtime, run, release } = await busy(deaf(store));
    const clock = fakeClock(Date.now());
    await using b = open(peer, [text("never")], { clock });
    const tried = [b.run(INSTEAD), b.start({ ...INSTEAD, runId: "bg" }), b.send("t", "instead", { mode: "interrupt" }), b.interrupt("t")];
    const refusals = Promise.allSettled(tried);
    await expect.poll(async () => (await store.wishes.listOpen(R)).length).toBeGreaterThan(3);
    let isOver = false;
    void refusals.then(() => {
      isOver = true;
    });
    while (!isOver) {
      await clock.advance(500);
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    for (const each of await refusals) expect(each).toMatchObject({ status: "rejected", reason: { code: "thread_already_running" } });
    expect(await store.runs.count({})).toBe(1);
    expect((await store.pending.load(T)).entries).toEqual([]);
    expect(await openWork(store)).toBe(1);
    release();
    expect(await run.result).toMatchObject({ status: expect.stringMatching(/done|cancelled/) });
    await runtime.close();
  });

  it("server-and-durability 35: of two submits at one moment exactly one streams, and the other is refused and leaves nothing that runs", async ({
    store,
    peer,
  }) => {
    for (let round = 0; round < 4; round++) {
      // The run at work hears of both before it gives the thread to one of them.
      const { runtime, release } = await busy(deaf(store));
      const begun = await store.runs.count({});
      const last = slow();
      // Their clock stands still: neither gives up because the machine is slow.
      const init = { tools: [last.tool], clock: fakeClock(Date.now()) };
      await using b = open(store, [toolCall("slow", {}), text("one")], init);
      await using c = open(peer, [toolCall("slow", {}), text("two")], init);
      const refused = Promise.withResolvers<void>();
      const both = [b, c].map((each) => each.run(INSTEAD).catch((thrown: unknown) => Promise.reject(refused.resolve() ?? thrown)));
      const settled = Promise.allSettled(both);
      await expect.poll(async () => (await store.wishes.listOpen(R)).length).toBe(2);
      release();
      await last.began;
      await refused.promise;
      last.release();
      const told = await settled;
      expect(told.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
      for (const each of told) if (each.status === "rejected") expect(each.reason).toMatchObject({ code: "thread_already_running" });
      expect(await store.runs.count({})).toBe(begun + 1);
      expect(await openWork(store)).toBe(0);
      await runtime.close();
      await store.threads.delete(T, "cascade");
    }
  });

  it("server-and-durability 35: the same on an idle thread, whatever they want of others", async ({ store, peer }) => {
    for (const onBusy of ["refuse", "interrupt"] as const) {
      const last = slow();
      // Whoever interrupts leaves those alone that came when he had looked.
      const meet = meeting(onBusy === "interrupt" ? 2 : 1);
      await using b = open(meet(store), [toolCall("slow", {}), text("one")], { tools: [last.tool] });
      await using c = open(meet(peer), [toolCall("slow", {}), text("two")], { tools: [last.tool] });
      const refused = Promise.withResolvers<void>();
      const tries = [b, c].map((each) => each.run({ ...INSTEAD, onBusy }).catch((thrown) => Promise.reject(refused.resolve() ?? thrown)));
      const both = Promise.allSettled(tries);
      await last.began;
      await refused.promise;
      last.release();
      const told = await both;
      expect(told.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
      expect(await openWork(store)).toBe(0);
    }
  });

  it("server-and-durability 52: a barrier ahead refuses the submit, and the run at work keeps running", async ({ store, peer }) => {
    const { runtime, run, release } = await busy(store);
    await using b = open(peer, []);
    const [id = ""] = (await b.send("t", "first this", { mode: "queue" })).messageIds;
    await b.pending.edit("t", id, { revision: 1, deliveryMode: { barrier: true } });
    await expect(b.run(INSTEAD)).rejects.toMatchObject({ code: "pending_selection_conflict" });
    await expect(b.start(INSTEAD)).rejects.toMatchObject({ code: "pending_selection_conflict" });
    expect(await store.wishes.listOpen(R)).toEqual([]);
    release();
    expect(await run.result).toMatchObject({ status: "done", text: "to the end" });
    await runtime.close();
  });

  it("queue comes behind what is at work, is executed by a worker, and is followed with its events and its typed answer", async ({
    store,
    peer,
  }) => {
    const { runtime, run, release } = await busy(store);
    await using worker = open(store, [text("second"), text('{"n":7}')], { workers: true });
    await using b = open(peer, []);
    await worker.start({ thread: "t", input: "first in line" });
    const next = b.stream({ thread: "t", input: "behind", onBusy: "queue", output: z.object({ n: z.number() }) });
    const reading = collect(next);
    await expect.poll(async () => (await store.runs.load(next.id))?.status).toBe("created");
    release();
    expect(await run.result).toMatchObject({ status: "done", text: "to the end" });
    const ended = await next.result;
    expect(ended).toMatchObject({ status: "done", output: { n: 7 }, runId: next.id });
    expect((await reading).map(({ type }) => type)).toEqual(expect.arrayContaining(["run-start", "run-end"]));
    expect(await openWork(store)).toBe(0);
    await runtime.close();
  });

  it("queue on a free thread begins at once; a signal takes back what is queued", async ({ store, peer }) => {
    await using free = open(peer, [text("at once")]);
    expect(await free.run({ thread: "t", input: "x", onBusy: "queue" })).toMatchObject({ status: "done", text: "at once" });
    const { runtime, run, release } = await busy(store);
    const stop = new AbortController();
    await using b = open(peer, []);
    const next = b.run({ thread: "t", runId: "q", input: "behind", onBusy: "queue", signal: stop.signal });
    await expect.poll(async () => (await store.runs.load(runId("q")))?.status).toBe("created");
    stop.abort();
    expect(await next).toMatchObject({ status: "cancelled" });
    release();
    expect(await run.result).toMatchObject({ status: "done" });
    expect((await store.pending.load(T)).entries).toEqual([]);
    await runtime.close();
  });

  it("a signal ends the wait for the thread, and nothing is written", async ({ store, peer }) => {
    const { runtime, run, release } = await busy(deaf(store));
    const stop = new AbortController();
    await using b = open(peer, []);
    const next = b.run({ ...INSTEAD, signal: stop.signal });
    await expect.poll(async () => (await store.wishes.listOpen(R)).length).toBe(1);
    stop.abort();
    await expect(next).rejects.toMatchObject({ code: "cancelled" });
    expect(await store.runs.count({})).toBe(1);
    release();
    await run.result;
    await runtime.close();
  });
});

test("what cannot be is refused by a code: values of onBusy, threads, priorities, a run that is resumed", async () => {
  await using store = memoryStore();
  await using runtime = open(store, []);
  const bad: readonly object[] = [
    { input: "x", onBusy: "wait" },
    { input: "x", onBusy: null },
    { input: "x", thread: "" },
    { thread: "t", resume: "r", onBusy: "interrupt" },
    { onBusy: "interrupt" },
  ];
  for (const request of bad) {
    await expect(runtime.run(JSON.parse(JSON.stringify(request)))).rejects.toMatchObject({ code: "invalid_activation" });
    await expect(runtime.stream(JSON.parse(JSON.stringify(request))).result).rejects.toMatchObject({ code: "invalid_activation" });
    await expect(runtime.start(JSON.parse(JSON.stringify(request)))).rejects.toMatchObject({ code: "invalid_activation" });
  }
  for (const more of [{ priority: -1 }, { priority: 1.5 }, { priority: 256 }, { dedupeKey: " " }])
    await expect(runtime.start({ thread: "t", input: "x", ...more })).rejects.toMatchObject({ code: "invalid_activation" });
  await expect(runtime.start(JSON.parse("null"))).rejects.toMatchObject({ code: "invalid_activation" });
  await expect(runtime.stream(JSON.parse("null")).result).rejects.toMatchObject({ code: "invalid_activation" });
  await expect(runtime.interrupt("")).rejects.toMatchObject({ code: "invalid_id" });
  await expect(runtime.interrupt("nobody")).rejects.toMatchObject({ code: "thread_not_found" });
  await expect(runtime.wait("nobody")).rejects.toMatchObject({ code: "run_not_found" });
  expect(await runtime.cancel("nobody")).toBe(false);
  expect((await store.dispatches.interrupt(T)).epoch).toBe(1);
  expect(await store.runs.count({})).toBe(0);
});
