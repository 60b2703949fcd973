import { AwakenError, messageText, openTicketsOf, runId, threadId } from "@awaken/contract";
import type { QueueStore } from "@awaken/contract/store";
import { describe, expect, test } from "vitest";
import * as z from "zod";
import { createRuntime, type RuntimeInit } from "../create-runtime.ts";
import { text, toolCall, toolCalls } from "../testing/script.ts";
import { type ScriptStep, scripted } from "../testing/scripted.ts";
import { defineTool } from "../tool/define-tool.ts";
import { ask } from "../tool/verdict.ts";
import { STORES } from "./stores.test-support.ts";

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

describe.each(STORES)("messages for a thread, on %s", (_, make) => {
  test("steer reaches the run at its next boundary where the store could not say at one what waits", async () => {
    await using store = make();
    let isDown = false;
    const load: QueueStore["pending"]["load"] = async (id) => {
      if (!isDown) return store.pending.load(id);
      isDown = false;
      throw new AwakenError("storage_io", "the connection broke");
    };
    const steer = defineTool({
      id: "steer",
      description: "",
      input: z.object({}),
      execute: async () => {
        await runtime.send("t", "be quick", { mode: "steer" });
        isDown = true;
      },
    });
    const look = defineTool({ id: "look", description: "", input: z.object({}), execute: () => "nothing" });
    const turns = [toolCall("steer", {}), toolCall("look", {}), text("quick then")];
    const { model, runtime } = open({ ...store, pending: { ...store.pending, load } }, turns, { tools: [steer, look], workers: false });
    expect(await runtime.run({ thread: "t", input: "go" })).toMatchObject({ status: "done", text: "quick then" });
    const said = model.requests.map(({ messages }) => messages.flatMap((each) => (each.role === "user" ? [messageText(each)] : [])));
    expect(said).toEqual([["go"], ["go"], ["go", "be quick"]]);
    expect(isDown).toBe(false);
    await runtime.close();
  });

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

  test("server-and-durability 54: what a run was told and did not read is not read by the next, neither in the foreground nor by a worker", async () => {
    await using store = make();
    const slow = lasting();
    const a = open(store, [toolCall("slow", {}), text("next")], { tools: [slow.tool], workers: false });
    const run = a.runtime.stream({ thread: "t", input: "go" });
    await slow.began;
    const sent = await a.runtime.send(run.id, "for you alone", { mode: "steer" });
    expect(sent).toMatchObject({ status: "steered", runId: run.id });
    expect(await a.runtime.cancel(run.id)).toBe(true);
    expect(await run.result).toMatchObject({ status: "cancelled" });
    expect(await a.runtime.run({ thread: "t", input: "another" })).toMatchObject({ status: "done", text: "next" });
    const worker = open(store, [text("third"), text("fourth")]);
    expect(await worker.runtime.wait((await a.runtime.start({ thread: "t", input: "a third" })).runId)).toMatchObject({ text: "third" });
    const { runId: last } = await a.runtime.send("t", "a fourth", { mode: "queue" });
    await expect.poll(async () => (await store.runs.load(last ?? runId("none")))?.status).toBe("done");
    expect(await logOf(store)).not.toContain("for you alone");
    expect((await a.runtime.pending.list("t")).entries).toMatchObject([{ pendingId: sent.messageIds[0] }]);
    await worker.runtime.close();
    await a.runtime.close();
  });

  test("server-and-durability 45: steering a run that is over queues, also while another one is at work on its thread", async () => {
    await using store = make();
    const slow = lasting();
    const a = open(store, [text("first"), toolCall("slow", {}), text("second")], { tools: [slow.tool], workers: false });
    const over = await a.runtime.run({ thread: "t", input: "go" });
    const run = a.runtime.stream({ thread: "t", input: "go on" });
    await slow.began;
    const sent = await a.runtime.send(over.runId, "late", { mode: "steer" });
    expect(sent).toMatchObject({ status: "queued" });
    expect([over.runId, run.id]).not.toContain(sent.runId);
    slow.release();
    expect(await run.result).toMatchObject({ status: "done", text: "second" });
    expect(JSON.stringify(a.model.requests)).not.toContain("late");
    const again = await a.runtime.send(run.id, "later", { mode: "steer" });
    expect(again).toMatchObject({ status: "queued", runId: sent.runId });
    const worker = open(store, [text("both")], { tools: [slow.tool] });
    await expect.poll(async () => (await store.runs.load(sent.runId ?? runId("none")))?.status).toBe("done");
    expect((await logOf(store)).slice(-3)).toEqual(["late", "later", "both"]);
    await worker.runtime.close();
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

  test.each([
    ["queue", ["paid", "one", "by the way", "two"]],
    ["steer", ["paid", "by the way", "one"]],
  ] as const)("%s to a run that waits stays pending behind its tickets, and is read when it goes on", async (mode, tail) => {
    await using store = make();
    const { runtime } = open(store, [toolCall("pay", {}), text("one"), text("two")], { tools: [guarded] });
    const first = await runtime.run({ thread: "t", input: "pay" });
    const [ticket] = first.status === "waiting" ? first.tickets : [];
    const sent = await runtime.send("t", "by the way", { mode });
    expect(sent).toMatchObject({ status: "behind-tickets", runId: first.runId });
    expect(await store.runs.load(first.runId)).toMatchObject({ status: "waiting", waiting: { tickets: [{ id: ticket?.id }] } });
    expect((await runtime.pending.list("t")).entries).toMatchObject([{ pendingId: sent.messageIds[0] }]);
    expect(await store.dispatches.list(T, { statuses: ["queued", "claimed"] })).toEqual([]);
    const run = await runtime.decide(ticket?.id ?? "", { action: "approve" });
    expect(await run.result).toMatchObject({ status: "done", runId: first.runId });
    expect((await logOf(store)).slice(3)).toEqual(tail);
    expect((await runtime.pending.list("t")).entries).toEqual([]);
    await runtime.close();
  });

  test("steer to a run whose call waits beside one that lasts is read with the results of both", async () => {
    await using store = make();
    const slow = lasting();
    const calls = toolCalls([
      { name: "pay", input: {}, id: "c1" },
      { name: "slow", input: {}, id: "c2" },
    ]);
    const { runtime, model } = open(store, [calls, text("one"), text("two")], { tools: [guarded, slow.tool], workers: false });
    const run = runtime.stream({ thread: "t", input: "pay" });
    await slow.began;
    expect(await runtime.send("t", "by the way", { mode: "steer" })).toMatchObject({ status: "steered", runId: run.id });
    const isOpen = async () => openTicketsOf((await store.runs.load(run.id)) ?? expect.fail()).length;
    await expect.poll(isOpen).toBe(1);
    await runtime.decide("c1", { action: "approve", run: run.id });
    slow.release();
    expect(await run.result).toMatchObject({ status: "done", text: "one" });
    expect(model.requests[1]?.messages.map(messageText)).toEqual(["pay", "", "paid", "slept", "by the way"]);
    await runtime.close();
  });

  test("interrupt to a run that waits supersedes it: its ticket is closed, nothing is paid, and a run of its own answers", async () => {
    await using store = make();
    const { runtime } = open(store, [toolCall("pay", {}), text("instead")], { tools: [guarded] });
    const first = await runtime.run({ thread: "t", input: "pay" });
    const [ticket] = first.status === "waiting" ? first.tickets : [];
    const sent = await runtime.send("t", "leave it", { mode: "interrupt" });
    expect(sent).toMatchObject({ status: "queued" });
    expect(sent.runId).not.toBe(first.runId);
    await expect.poll(async () => (await store.runs.load(sent.runId ?? runId("none")))?.status).toBe("done");
    expect(await runtime.wait(first.runId)).toMatchObject({ status: "cancelled" });
    await expect(runtime.decide(ticket?.id ?? "", { action: "approve" })).rejects.toMatchObject({ code: "ticket_not_open" });
    const said = await logOf(store);
    expect(said.slice(-2)).toEqual(["leave it", "instead"]);
    expect(said.join()).not.toContain("paid");
    await runtime.close();
  });

  test("server-and-durability 50: editing bumps the revision; a stale one is a conflict; an id change is refused; a run reads what it says then", async () => {
    await using store = make();
    const { runtime } = open(store, [], { workers: false });
    const [one = "", two = ""] = [
      (await runtime.send("t", "one", { mode: "queue" })).messageIds[0],
      (await runtime.send("t", "two", { mode: "queue" })).messageIds[0],
    ];
    const { revision } = await runtime.pending.list("t");
    await runtime.pending.reorder("t", [two, one], revision);
    await expect(runtime.pending.reorder("t", [one, two], revision)).rejects.toMatchObject({ code: "version_conflict" });
    expect(await runtime.pending.edit("t", one, { revision: 1, message: { role: "user", content: "won" } })).toMatchObject({
      pendingId: one,
      revision: 2,
    });
    await expect(runtime.pending.edit("t", one, { revision: 1 })).rejects.toMatchObject({
      code: "version_conflict",
      details: { expected: 1, actual: 2 },
    });
    await expect(runtime.pending.retract("t", one, 1)).rejects.toMatchObject({ code: "version_conflict" });
    const renamed = { id: "another", role: "user", content: "lost" } as const;
    await expect(runtime.pending.edit("t", one, { revision: 2, message: renamed })).rejects.toMatchObject({ code: "storage_validation" });
    const three = (await runtime.send("t", "three", { mode: "queue" })).messageIds[0] ?? "";
    await runtime.pending.retract("t", three, 1);
    expect((await runtime.pending.list("t")).entries).toMatchObject([
      { pendingId: two, revision: 1 },
      { pendingId: one, revision: 2 },
    ]);
    const worker = open(store, [text("read")]);
    await expect.poll(() => logOf(store)).toEqual(["two", "won", "read"]);
    await worker.runtime.close();
  });

  test("server-and-durability 51: whoever edits what a run has read is told so, and not that it is not there", async () => {
    await using store = make();
    const slow = lasting();
    const { runtime } = open(store, [toolCall("slow", {}), text("quick then")], { tools: [slow.tool], workers: false });
    const run = runtime.stream({ thread: "t", input: "go" });
    await slow.began;
    const [told = ""] = (await runtime.send("t", "be quick", { mode: "steer" })).messageIds;
    expect(await runtime.pending.edit("t", told, { revision: 1, message: { role: "user", content: "be quicker" } })).toMatchObject({
      revision: 2,
    });
    slow.release();
    expect(await run.result).toMatchObject({ status: "done" });
    const [asked = ""] = (await runtime.send("t", "and then", { mode: "queue" })).messageIds;
    const worker = open(store, [text("that")]);
    await expect.poll(() => logOf(store)).toEqual(["go", "", "slept", "be quicker", "quick then", "and then", "that"]);
    const message = { role: "user", content: "too late" } as const;
    for (const id of [told, asked]) {
      await expect(runtime.pending.edit("t", id, { revision: 2, message })).rejects.toMatchObject({ code: "already_consumed" });
      await expect(runtime.pending.retract("t", id, 1)).rejects.toMatchObject({ code: "already_consumed" });
    }
    await expect(runtime.pending.edit("t", "nobody", { revision: 1, message })).rejects.toMatchObject({ code: "storage_not_found" });
    await expect(runtime.pending.retract("t", "nobody", 1)).rejects.toMatchObject({ code: "storage_not_found" });
    expect((await logOf(store)).join()).not.toContain("too late");
    await worker.runtime.close();
    await runtime.close();
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
