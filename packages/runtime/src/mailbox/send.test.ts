import { messageText, runId, threadId } from "@awaken/contract";
import type { QueueStore } from "@awaken/contract/store";
import { memoryStore } from "@awaken/stores/memory";
import { sqliteStore } from "@awaken/stores/sqlite";
import { describe, expect, test } from "vitest";
import * as z from "zod";
import { createRuntime, type RuntimeInit } from "../create-runtime.ts";
import { text, toolCall } from "../testing/script.ts";
import { type ScriptStep, scripted } from "../testing/scripted.ts";
import { defineTool } from "../tool/define-tool.ts";
import { ask } from "../tool/verdict.ts";

const SILENT = { warn() {}, error() {} };
const T = threadId("t");

function open(store: QueueStore, turns: readonly ScriptStep[], init: Partial<RuntimeInit> = {}) {
  const model = scripted(turns);
  const runtime = createRuntime({
    providers: { scripted: model },
    models: { fast: { provider: "scripted", model: "m" } },
    agents: { default: { model: "fast" } },
    log: SILENT,
    store,
    ...init,
  });
  return { model, runtime };
}

function lasting() {
  const began = Promise.withResolvers<void>();
  const end = Promise.withResolvers<void>();
  const tool = defineTool({
    id: "slow",
    description: "",
    input: z.object({}),
    idempotent: true,
    execute: async (_, { signal }) => {
      began.resolve();
      await Promise.race([end.promise, new Promise((resolve) => signal.addEventListener("abort", resolve))]);
      return "slept";
    },
  });
  return { tool, began: began.promise, release: end.resolve };
}

const guarded = defineTool({ id: "pay", description: "", input: z.object({}), approve: () => ask("Pay?"), execute: () => "paid" });

const logOf = async (store: QueueStore) => (await store.messages.list(T, {})).items.map(({ message }) => messageText(message));

describe.each([
  ["memory", () => memoryStore()],
  ["sqlite", () => sqliteStore(":memory:")],
] as const)("messages for a thread, on %s", (_, make) => {
  test("steer reaches a run that another process executes, after its step; the message is durable before that", async () => {
    await using store = make();
    const slow = lasting();
    const a = open(store, [toolCall("slow", {}), text("quick then")], { tools: [slow.tool], workers: false });
    const b = open(store, [], { workers: false });
    const run = a.runtime.stream({ thread: "t", input: "go" });
    await slow.began;
    const sent = await b.runtime.send("t", "be quick", { mode: "steer" });
    expect(sent).toMatchObject({ status: "steered", runId: run.id });
    expect((await b.runtime.pending.list("t")).entries).toMatchObject([{ pendingId: sent.messageIds[0], revision: 1 }]);
    slow.release();
    expect(await run.result).toMatchObject({ status: "done", text: "quick then" });
    expect(a.model.requests[1]?.messages.map((message) => messageText(message))).toContain("be quick");
    expect((await b.runtime.pending.list("t")).entries).toEqual([]);
    await a.runtime.close();
  });

  test("server-and-durability 45, 54: steering a run that is over queues; what a run was told and did not read is not read by the next", async () => {
    await using store = make();
    const slow = lasting();
    const a = open(store, [toolCall("slow", {}), text("next"), text("more")], { tools: [slow.tool], workers: false });
    const run = a.runtime.stream({ thread: "t", input: "go" });
    await slow.began;
    const sent = await a.runtime.send(run.id, "for you alone", { mode: "steer" });
    expect(await a.runtime.cancel(run.id)).toBe(true);
    await run.result;
    await a.runtime.run({ thread: "t", input: "another" });
    expect(await logOf(store)).not.toContain("for you alone");
    expect((await a.runtime.pending.list("t")).entries).toMatchObject([{ pendingId: sent.messageIds[0] }]);
    expect(await a.runtime.send(run.id, "late", { mode: "steer" })).toMatchObject({ status: "queued" });
    await a.runtime.close();
  });

  test("queue on a thread where nobody is at work gets a run that answers; several share one", async () => {
    await using store = make();
    const { runtime } = open(store, [], { workers: false });
    const first = await runtime.send("t", "one", { mode: "queue" });
    const second = await runtime.send("t", "two", { mode: "queue" });
    expect([first.status, second.status]).toEqual(["queued", "queued"]);
    expect(second.runId).toBe(first.runId);
    const worker = open(store, [text("both")]);
    await expect.poll(async () => (await store.runs.load(first.runId ?? runId("none")))?.status).toBe("done");
    expect(await logOf(store)).toEqual(["one", "two", "both"]);
    await worker.runtime.close();
  });

  test("a run that waits keeps its tickets: what is sent stays pending behind them, and is read when it goes on", async () => {
    await using store = make();
    const { runtime, model } = open(store, [toolCall("pay", {}), text("paid"), text("and read")], { tools: [guarded] });
    const first = await runtime.run({ thread: "t", input: "pay" });
    const [ticket] = first.status === "waiting" ? first.tickets : [];
    expect(await runtime.send("t", "by the way", { mode: "steer" })).toMatchObject({ status: "behind-tickets", runId: first.runId });
    expect(await store.runs.load(first.runId)).toMatchObject({ status: "waiting" });
    const run = await runtime.decide(ticket?.id ?? "", { action: "approve" });
    expect(await run.result).toMatchObject({ status: "done" });
    expect(await logOf(store)).toContain("by the way");
    expect(model.requests.length).toBeGreaterThanOrEqual(2);
    await runtime.close();
  });

  test("server-and-durability 50, 51: pending messages are edited, moved and taken back until a run has read them", async () => {
    await using store = make();
    const { runtime } = open(store, [], { workers: false });
    const [one = "", two = ""] = [
      (await runtime.send("t", "one", { mode: "queue" })).messageIds[0],
      (await runtime.send("t", "two", { mode: "queue" })).messageIds[0],
    ];
    const { revision } = await runtime.pending.list("t");
    await runtime.pending.reorder("t", [two, one], revision);
    await expect(runtime.pending.reorder("t", [one, two], revision)).rejects.toMatchObject({ code: "version_conflict" });
    expect(await runtime.pending.edit("t", one, { revision: 1, message: { role: "user", content: "won" } })).toMatchObject({ revision: 2 });
    await expect(runtime.pending.edit("t", one, { revision: 1 })).rejects.toMatchObject({ code: "version_conflict" });
    const three = (await runtime.send("t", "three", { mode: "queue" })).messageIds[0] ?? "";
    await runtime.pending.retract("t", three, 1);
    const worker = open(store, [text("read")]);
    await expect.poll(() => logOf(store)).toEqual(["two", "won", "read"]);
    await expect(runtime.pending.retract("t", one, 2)).rejects.toMatchObject({ code: "already_consumed" });
    await expect(runtime.pending.retract("t", "nobody", 1)).rejects.toMatchObject({ code: "storage_not_found" });
    await worker.runtime.close();
  });

  test("server-and-durability 38: interrupt ends what is at work, keeps what it said, and cancels what is queued; on an idle thread it is refused", async () => {
    await using store = make();
    const slow = lasting();
    const { runtime } = open(store, [toolCall("slow", {}), text("after")], { tools: [slow.tool], workers: false });
    await expect(runtime.interrupt("t")).rejects.toMatchObject({ code: "thread_not_found" });
    const queued = [(await runtime.start({ thread: "u", input: "1" })).runId, (await runtime.start({ thread: "u", input: "2" })).runId];
    expect(await runtime.interrupt("u")).toEqual({ superseded: 2, cancelled: false });
    for (const id of queued)
      expect(await store.runs.load(id)).toMatchObject({ status: "done", outcome: { termination: { type: "cancelled" } } });
    const run = runtime.stream({ thread: "t", input: "go" });
    await slow.began;
    expect(await runtime.interrupt("t")).toEqual({ superseded: 0, cancelled: true });
    expect(await run.result).toMatchObject({ status: "cancelled" });
    // server-and-durability 20: what comes after an interrupt is stamped with the new epoch, and can be claimed.
    const { runId: next } = await runtime.start({ thread: "t", input: "now" });
    const worker = open(store, [text("after")], { tools: [slow.tool] });
    await expect.poll(async () => (await store.runs.load(next))?.status).toBe("done");
    await worker.runtime.close();
  });

  test("bad input is refused by a code: an unknown mode, no message, a mode without a queue", async () => {
    await using store = make();
    const { runtime } = open(store, [], { workers: false });
    await expect(runtime.send("t", "x", JSON.parse('{"mode":"shout"}'))).rejects.toMatchObject({ code: "invalid_activation" });
    await expect(runtime.send("t", [], { mode: "queue" })).rejects.toMatchObject({ code: "invalid_activation" });
    await using bare = createRuntime({ providers: {}, models: {}, agents: {}, checked: false });
    await expect(bare.send("t", "x", { mode: "queue" })).rejects.toMatchObject({ code: "capability_mismatch" });
    expect(await bare.send("t", "x")).toMatchObject({ status: "refused" });
  });
});
