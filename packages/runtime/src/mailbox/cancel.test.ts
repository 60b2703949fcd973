import { dispatchId, messageId, messageText, runId, threadId } from "@awaken/contract";
import type { QueueStore } from "@awaken/contract/store";
import { describe, expect, test } from "vitest";
import * as z from "zod";
import type { RuntimeInit } from "../create-runtime.ts";
import { text, toolCall } from "../testing/script.ts";
import type { ScriptStep } from "../testing/scripted.ts";
import { defineTool } from "../tool/define-tool.ts";
import { open as openScripted } from "./open.test-support.ts";
import { STORES } from "./stores.test-support.ts";

const T = threadId("t");

const open = (store: QueueStore, turns: readonly ScriptStep[], init: Partial<RuntimeInit> = {}) =>
  openScripted(store, turns, { workers: false, ...init });

/** Lasts until its run is told to stop. */
function lasting() {
  const began = Promise.withResolvers<void>();
  const tool = defineTool({
    id: "slow",
    description: "",
    input: z.object({}),
    idempotent: true,
    execute: (_, { signal }) => {
      began.resolve();
      return new Promise<string>((resolve) => signal.addEventListener("abort", () => resolve("stopped")));
    },
  });
  return { tool, began: began.promise };
}

const said = async (store: QueueStore) => (await store.messages.list(T, {})).items.map(({ message }) => messageText(message));
const over = async (store: QueueStore, id: string) => {
  const run = await store.runs.load(runId(id));
  return run?.status === "done" ? run.outcome.termination.type : run?.status;
};

describe.each(STORES)("cancel on %s", (_, make) => {
  test("server-and-durability 39: of a thread where all are queued cancels the next run, with its message, until none is left", async () => {
    await using store = make();
    await using runtime = open(store, [text("third")]);
    for (const id of ["r1", "r2", "r3"]) await runtime.start({ thread: "t", runId: id, input: id });
    expect(await runtime.cancel("t")).toBe(true);
    expect([await over(store, "r1"), await over(store, "r2")]).toEqual(["cancelled", "created"]);
    expect(await runtime.cancelAndWait("t")).toBe(true);
    expect([await over(store, "r2"), await over(store, "r3")]).toEqual(["cancelled", "created"]);
    await using worker = open(store, [text("done")], { workers: true });
    expect(await worker.wait("r3")).toMatchObject({ status: "done", text: "done" });
    expect(await said(store)).toEqual(["r3", "done"]);
    expect(await runtime.cancel("t")).toBe(false);
  });

  test("of a thread where messages are queued takes them back", async () => {
    await using store = make();
    await using runtime = open(store, []);
    await runtime.send("t", "one", { mode: "queue" });
    await runtime.send("t", "two", { mode: "queue" });
    expect(await runtime.cancelAndWait("t")).toBe(true);
    expect((await store.pending.load(T)).entries).toEqual([]);
    expect((await store.dispatches.list(T, {})).map(({ status }) => status)).toEqual(["cancelled"]);
    expect(await runtime.cancelAndWait("t")).toBe(false);
  });

  test("and wait ends a run that was cut off, and one that another process executes", async () => {
    await using store = make();
    const slow = lasting();
    const node = (name: string, gone: readonly string[] = []) => ({ name, isGone: (other: string) => gone.includes(other) });
    const first = open(store, [toolCall("slow", {}), toolCall("slow", {})], { tools: [slow.tool], node: node("first") });
    const cut = first.stream({ thread: "t", runId: "cut", input: "x" });
    await slow.began;
    await using next = open(store, [], { tools: [slow.tool], node: node("next", ["first"]) });
    expect(await next.cancelAndWait("cut")).toBe(true);
    expect(await over(store, "cut")).toBe("cancelled");
    await first.close();
    await cut.result;
    const again = lasting();
    await using owner = open(store, [toolCall("slow", {})], { tools: [again.tool], node: node("owner") });
    const run = owner.stream({ thread: "t", runId: "alive", input: "x" });
    await again.began;
    expect(await next.cancelAndWait("t")).toBe(true);
    expect(await over(store, "alive")).toBe("cancelled");
    expect(await run.result).toMatchObject({ status: "cancelled" });
  });
});

describe.each(STORES)("interrupt on %s", (_, make) => {
  test("server-and-durability 38: counts what was queued, also what a worker begins while the run before it ends", async () => {
    await using store = make();
    for (let round = 0; round < 4; round++) {
      const slow = lasting();
      const turns = [toolCall("slow", {}), toolCall("slow", {}), toolCall("slow", {})];
      const worker = open(store, turns, { tools: [slow.tool], workers: true });
      await using other = open(store, []);
      const ids = ["a", "b", "c"].map((name) => `${name}${round}`);
      for (const id of ids) await other.start({ thread: "t", runId: id, input: id });
      await slow.began;
      expect(await other.interrupt("t")).toEqual({ superseded: 2, cancelled: true });
      expect(await Promise.all(ids.map((id) => over(store, id)))).toEqual(["cancelled", "cancelled", "cancelled"]);
      await worker.close();
    }
  });
});

describe.each(STORES)("a barrier in front of a run's message, on %s", (_, make) => {
  const barrier = async (runtime: ReturnType<typeof open>, input: string) => {
    const [id = ""] = (await runtime.send("t", input, { mode: "queue" })).messageIds;
    await runtime.pending.edit("t", id, { revision: 1, deliveryMode: { barrier: true } });
    return id;
  };

  test("server-and-durability 52: enters first, and the run reads its own afterwards", async () => {
    await using store = make();
    await using runtime = open(store, []);
    await barrier(runtime, "first of all");
    await runtime.start({ thread: "t", runId: "r", input: "then this", priority: 0 });
    await using worker = open(store, [text("one"), text("two"), text("three")], { workers: true });
    expect(await worker.wait("r")).toMatchObject({ status: "done" });
    await expect.poll(async () => store.dispatches.countByStatus()).toMatchObject({ queued: 0, claimed: 0, "dead-letter": 0 });
    expect((await said(store)).filter((each) => each.includes(" "))).toEqual(["first of all", "then this"]);
    expect((await store.pending.load(T)).entries).toEqual([]);
  });

  test("for a run that is over holds nobody back, and is read by nobody else", async () => {
    await using store = make();
    await using runtime = open(store, []);
    await store.pending.append(T, [
      {
        message: { id: messageId("late"), role: "user", content: [{ type: "text", text: "late" }] },
        deliveryMode: { boundary: "next-step", barrier: true, targetRunId: runId("gone"), fallbackToNewRun: false },
      },
    ]);
    await runtime.start({ thread: "t", runId: "r", input: "now this" });
    await using worker = open(store, [text("done")], { workers: true });
    expect(await worker.wait("r")).toMatchObject({ status: "done", text: "done" });
    expect(await said(store)).toEqual(["now this", "done"]);
  });

  test("server-and-durability 52: waits for nobody who is over: what was for him is moved behind it", async () => {
    await using store = make();
    await using runtime = open(store, []);
    await store.pending.append(T, [
      {
        message: { id: messageId("late"), role: "user", content: [{ type: "text", text: "late" }] },
        deliveryMode: { boundary: "next-step", targetRunId: runId("gone"), fallbackToNewRun: false },
      },
    ]);
    await barrier(runtime, "first of all");
    await runtime.start({ thread: "t", runId: "r", input: "then this" });
    await using worker = open(store, [text("one"), text("two"), text("three")], { workers: true });
    expect(await worker.wait("r", { timeoutMs: 10_000 })).toMatchObject({ status: "done" });
    expect((await said(store)).filter((each) => each.includes(" "))).toEqual(["first of all", "then this"]);
    expect((await store.pending.load(T)).entries.map(({ pendingId }) => pendingId)).toEqual(["late"]);
  });

  test("server-and-durability 52: does so too when it is its own run's", async () => {
    await using store = make();
    await using runtime = open(store, []);
    await store.pending.append(T, [
      {
        message: { id: messageId("late"), role: "user", content: [{ type: "text", text: "late" }] },
        deliveryMode: { boundary: "next-step", targetRunId: runId("gone"), fallbackToNewRun: false },
      },
    ]);
    await runtime.start({ thread: "t", runId: "r", input: "mine" });
    const [own] = (await runtime.pending.list("t")).entries.filter(({ pendingId }) => pendingId !== "late");
    await runtime.pending.edit("t", own?.pendingId ?? "", { revision: 1, deliveryMode: { barrier: true } });
    await using worker = open(store, [text("done")], { workers: true });
    expect(await worker.wait("r", { timeoutMs: 10_000 })).toMatchObject({ status: "done", text: "done" });
    expect(await said(store)).toEqual(["mine", "done"]);
  });
});

describe.each(STORES)("a barrier behind what a run was promised for, on %s", (_, make) => {
  test("server-and-durability 52: waits until that run has read it, also when somebody hurries past", async () => {
    await using store = make();
    await using runtime = open(store, []);
    const promised = { boundary: "new-run", targetRunId: runId("p"), fallbackToNewRun: false } as const;
    await store.pending.append(T, [
      { message: { id: messageId("m"), role: "user", content: [{ type: "text", text: "for the promised" }] }, deliveryMode: promised },
    ]);
    await store.dispatches.enqueue({ dispatchId: dispatchId("p"), threadId: T, runId: runId("p"), dedupeKey: "moved:p" });
    await runtime.start({ thread: "t", runId: "r", input: "in a hurry", priority: 0 });
    const [own] = (await runtime.pending.list("t")).entries.filter(({ pendingId }) => pendingId !== "m");
    await runtime.pending.edit("t", own?.pendingId ?? "", { revision: 1, deliveryMode: { barrier: true } });
    await using worker = open(store, [text("one"), text("two")], { workers: true });
    expect(await worker.wait("p", { timeoutMs: 10_000 })).toMatchObject({ status: "done" });
    expect(await said(store)).toEqual(["for the promised", "one"]);
  });
});

describe.each(STORES)("a message for a run that waited, and was deleted with its thread, on %s", (_, make) => {
  test("has a run of its own", async () => {
    await using store = make();
    await store.pending.append(T, [
      {
        message: { id: messageId("m"), role: "user", content: [{ type: "text", text: "go on" }] },
        deliveryMode: { boundary: "resume-input", targetRunId: runId("gone"), fallbackToNewRun: false },
      },
    ]);
    await store.dispatches.enqueue({ dispatchId: dispatchId("d"), threadId: T, runId: runId("gone"), dedupeKey: "resume:gone" });
    await using _worker = open(store, [text("done")], { workers: true });
    await expect.poll(() => said(store)).toEqual(["go on", "done"]);
    expect(await store.runs.load(runId("gone"))).toBeUndefined();
    await expect.poll(async () => store.dispatches.countByStatus()).toMatchObject({ queued: 0, claimed: 0, "dead-letter": 0 });
  });
});

describe.each(STORES)("a message for whoever goes on next, on %s", (_, make) => {
  test("is not read by a run that was promised for another one, which comes under its id", async () => {
    await using store = make();
    await using runtime = open(store, []);
    const deliveryMode = { boundary: "resume-input", fallbackToNewRun: false } as const;
    await store.pending.append(T, [
      { message: { id: messageId("m"), role: "user", content: [{ type: "text", text: "go on" }] }, deliveryMode },
    ]);
    const sent = await runtime.send("t", "hello", { mode: "queue" });
    await using worker = open(store, [text("done")], { workers: true });
    expect(await worker.wait(sent.runId ?? "", { timeoutMs: 3_000 })).toMatchObject({ status: "done", text: "done" });
    expect(await said(store)).toEqual(["hello", "done"]);
    expect((await store.pending.load(T)).entries.map(({ pendingId }) => pendingId)).toEqual(["m"]);
  });
});
