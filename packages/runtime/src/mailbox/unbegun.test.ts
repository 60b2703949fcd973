import { type AgentEvent, messageText, type RunId, threadId } from "@awaken/contract";
import type { QueueStore } from "@awaken/contract/store";
import { describe, expect, test } from "vitest";
import * as z from "zod";
import type { RuntimeInit } from "../create-runtime.ts";
import { fakeClock } from "../testing/fake-clock.ts";
import { stall, text, toolCall } from "../testing/script.ts";
import type { ScriptStep } from "../testing/scripted.ts";
import { defineTool } from "../tool/define-tool.ts";
import { open as openScripted } from "./open.test-support.ts";
import { STORES } from "./stores.test-support.ts";

// A run that somebody was promised when he sent messages, before there is a record of it.

const T = threadId("t");

const open = (store: QueueStore, turns: readonly ScriptStep[], init: Partial<RuntimeInit> = {}) =>
  openScripted(store, turns, { limits: { storeMs: 3_600_000 }, ...init });

async function read(events: AsyncIterable<AgentEvent>): Promise<readonly AgentEvent[]> {
  const told: AgentEvent[] = [];
  for await (const event of events) told.push(event);
  return told;
}

function lasting() {
  const began = Promise.withResolvers<void>();
  const end = Promise.withResolvers<void>();
  const execute = async () => {
    began.resolve();
    await end.promise;
    return "slept";
  };
  return { tool: defineTool({ id: "slow", description: "", input: z.object({}), execute }), began: began.promise, release: end.resolve };
}

async function failureOf(work: Promise<unknown>) {
  return work.then(
    () => expect.fail("it should have failed"),
    (thrown: unknown) => thrown,
  );
}

describe.each(STORES)("a run that was promised and has not begun, on %s", (engine, make) => {
  test("is waited for and followed by its id, in whatever process, until it is over", async () => {
    await using store = make();
    const slow = lasting();
    await using worker = open(store, [toolCall("slow", {}), text("first"), text("second")], { tools: [slow.tool] });
    await using other = open(store, [], { workers: false });
    const first = await worker.start({ thread: "t", input: "go" });
    await slow.began;
    const sent = await other.send("u", "and then?", { mode: "queue" });
    const id = sent.runId ?? expect.fail();
    expect(sent.status).toBe("queued");
    const [waiting, here, following] = [other.wait(id), worker.wait(id), read(other.attach(id))];
    slow.release();
    const result = await waiting;
    expect(result).toMatchObject({ runId: id, threadId: "u", status: "done" });
    expect(await here).toEqual(result);
    const told = await following;
    expect(told[0]).toMatchObject({ type: "run-start", runId: id });
    expect(told.at(-1)).toMatchObject({ type: "run-end", runId: id, result: { status: "done" } });
    expect(await worker.wait(first.runId)).toMatchObject({ status: "done" });
  });

  test("is waited for also when nobody has taken it up yet; whoever waits no longer is told that it is queued", async () => {
    await using store = make();
    await using sender = open(store, [], { workers: false });
    const { runId: id = expect.fail() } = await sender.send("t", "hello", { mode: "queue" });
    const waiting = sender.wait(id);
    const following = read(sender.attach(id));
    expect(await failureOf(sender.wait(id, { timeoutMs: 0 }))).toMatchObject({ code: "timeout" });
    await using worker = open(store, [text("hi")]);
    expect(await waiting).toMatchObject({ runId: id, status: "done", text: "hi" });
    expect((await following).at(-1)).toMatchObject({ type: "run-end", runId: id });
    expect(await worker.wait(id)).toMatchObject({ text: "hi" });
  });

  test("and never will, because its messages were taken back, is said to be so; whoever follows it is told nothing", async () => {
    await using store = make();
    const clock = fakeClock(1_000);
    await using sender = open(store, [], { workers: false, clock });
    const { runId: id = expect.fail(), messageIds } = await sender.send("t", "hello", { mode: "queue" });
    const waiting = failureOf(sender.wait(id));
    const caughtUp = Promise.withResolvers<void>();
    const following = read(sender.attach(id, { onCaughtUp: caughtUp.resolve }));
    await caughtUp.promise;
    for (const message of messageIds) await sender.pending.retract("t", message, 1);
    await using worker = open(store, []);
    await expect.poll(async () => (await store.dispatches.list(T, {})).map(({ status }) => status)).toEqual(["acked"]);
    // Told, not looked for: his clock stands still.
    expect(await waiting).toMatchObject({ code: "run_not_found", message: expect.stringContaining("never began") });
    expect(await following).toEqual([]);
    expect(await failureOf(worker.wait(id))).toMatchObject({ code: "run_not_found" });
    expect(await failureOf(read(worker.attach(id)))).toMatchObject({ code: "run_not_found" });
  });

  test("and was started, and whose messages were taken back, is cancelled when its turn comes, and is no dead letter", async () => {
    await using store = make();
    await using sender = open(store, [], { workers: false });
    const { runId: id } = await sender.start({ thread: "t", input: "hello" });
    const waiting = sender.wait(id);
    const { entries } = await sender.pending.list("t");
    for (const { pendingId, revision } of entries) await sender.pending.retract("t", pendingId, revision);
    await using worker = open(store, [text("second")]);
    expect(await waiting).toMatchObject({ runId: id, status: "cancelled", termination: { type: "cancelled" } });
    expect(await worker.deadLetters.list()).toMatchObject({ items: [] });
    expect((await store.messages.list(T, {})).items).toEqual([]);
    expect(await worker.run({ thread: "t", input: "again" })).toMatchObject({ text: "second" });
  });

  test.each(["queue", "steer", "interrupt"] as const)(
    "is sent to by its id (%s): its thread has the messages, and no other one is made",
    async (mode) => {
      await using store = make();
      const slow = lasting();
      await using worker = open(store, [toolCall("slow", {}), text("first"), text("second"), text("third")], { tools: [slow.tool] });
      await using sender = open(store, [], { workers: false });
      await worker.start({ thread: "t", input: "go" });
      await slow.began;
      const { runId: id = expect.fail() } = await sender.send("t", "one", { mode: "queue" });
      const asked = sender.send(id, "two", { mode });
      if (mode === "interrupt") slow.release();
      const sent = await asked;
      // What is said to a run that has not begun steers no other one.
      expect(sent.status).toBe("queued");
      if (mode !== "interrupt") expect(sent.runId).toBe(id);
      slow.release();
      expect(await sender.wait(sent.runId ?? expect.fail())).toMatchObject({ threadId: "t", status: "done" });
      const log = (await store.messages.list(T, {})).items.map(({ message }) => messageText(message));
      expect(log.filter((each) => each === "two")).toHaveLength(1);
      expect((await store.threads.list({})).items.map((thread) => thread.id)).toEqual([T]);
    },
  );

  test("and never will is sent to by its id: a run of its thread answers", async () => {
    await using store = make();
    await using sender = open(store, [], { workers: false });
    const { runId: id = expect.fail() } = await sender.send("t", "one", { mode: "queue" });
    expect(await sender.cancel(id)).toBe(true);
    const sent = await sender.send(id, "two", { mode: "steer" });
    expect(sent).toMatchObject({ status: "queued" });
    await using worker = open(store, [text("answered")]);
    expect(await worker.wait(sent.runId ?? expect.fail())).toMatchObject({ threadId: "t", text: "answered" });
  });

  test.each(["run", "thread"])("and was taken up a moment ago is cancelled by the id of its %s as soon as it is on record", async (by) => {
    await using store = make();
    const [taken, looked, gate] = [Promise.withResolvers<void>(), Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const late: QueueStore = {
      ...store,
      commit: async (commit) => {
        taken.resolve();
        await gate.promise;
        return store.commit(commit);
      },
    };
    const runs = { ...store.runs, load: async (id: RunId) => store.runs.load(id).finally(() => (isAsked ? looked.resolve() : undefined)) };
    let isAsked = false;
    await using sender = open({ ...store, runs }, [], { workers: false });
    const { runId: id = expect.fail() } = await sender.send("t", "hello", { mode: "queue" });
    await using _worker = open(late, [stall(text("a ", "b"), 1)]);
    await taken.promise;
    isAsked = true;
    const cancelling = sender.cancel(by === "run" ? id : "t");
    // It has seen that there is no record.
    await looked.promise;
    gate.resolve();
    expect(await cancelling).toBe(true);
    expect(await sender.wait(id)).toMatchObject({ status: "cancelled" });
  });

  test("is cancelled by its id, with its messages: whoever waits for it or follows it is told so at once", async () => {
    await using store = make();
    // Nobody looks for it: time stands still.
    await using sender = open(store, [], { workers: false, clock: fakeClock(1_000) });
    const { runId: id = expect.fail() } = await sender.send("t", "hello", { mode: "queue" });
    const caughtUp = Promise.withResolvers<void>();
    const following = read(sender.attach(id, { onCaughtUp: caughtUp.resolve }));
    const waiting = failureOf(sender.wait(id));
    await caughtUp.promise;
    expect(await sender.cancel(id)).toBe(true);
    expect(await waiting).toMatchObject({ code: "run_not_found", message: expect.stringContaining("cancelled") });
    expect(await following).toEqual([]);
    expect((await sender.pending.list("t")).entries).toEqual([]);
    expect(await sender.cancel(id)).toBe(false);
    expect(await failureOf(sender.wait(id))).toMatchObject({ code: "run_not_found", message: expect.stringContaining("cancelled") });
  });

  test("and is a dead letter says why, at once", async () => {
    await using store = make();
    await using sender = open(store, [], { workers: false, clock: fakeClock(1_000) });
    const { runId: id = expect.fail() } = await sender.send("t", "hello", { mode: "queue" });
    const waiting = failureOf(sender.wait(id));
    const claim = (await store.dispatches.claim(T, { consumer: "c", leaseMs: 1_000 })) ?? expect.fail();
    const { dispatchId, claimToken } = claim.dispatch;
    await store.dispatches.deadLetter({ dispatchId, claimToken }, "nobody knows its agent");
    expect(await waiting).toMatchObject({ code: "dead_letter", message: expect.stringContaining("nobody knows its agent") });
  });

  test("and was followed before is not looked for any more when it is executed here", async () => {
    await using store = make();
    const clock = fakeClock(1_000);
    // The run that is at work has one, where others could take it.
    const leases = engine === "memory" ? 0 : 1;
    const [first, second] = [lasting(), lasting()];
    const tools = [first.tool, { ...second.tool, id: "slower" }];
    const turns = [toolCall("slow", {}), text("first"), toolCall("slower", {}), text("second")];
    await using worker = open(store, turns, { tools, clock, concurrency: 1 });
    await worker.start({ thread: "u", input: "go" });
    await first.began;
    const { runId: id = expect.fail() } = await worker.send("t", "and then?", { mode: "queue" });
    const caughtUp = Promise.withResolvers<void>();
    const following = read(worker.attach(id, { onCaughtUp: caughtUp.resolve }));
    await caughtUp.promise;
    await expect.poll(() => clock.pendingTimers).toBe(leases + 1);
    first.release();
    await second.began;
    await expect.poll(() => clock.pendingTimers).toBe(leases);
    second.release();
    expect(await worker.wait(id)).toMatchObject({ status: "done", text: "second" });
    expect((await following).at(-1)).toMatchObject({ type: "run-end", runId: id });
  });
});
