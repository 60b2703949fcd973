import { dispatchId, InferenceError, type Provider, runId, scopeId, threadId } from "@awaken/contract";
import type { QueueStore } from "@awaken/contract/store";
import { memoryStore } from "@awaken/stores/memory";
import { describe, expect, test } from "vitest";
import * as z from "zod";
import { createRuntime, type RuntimeInit } from "../create-runtime.ts";
import { text, toolCall } from "../testing/script.ts";
import { type ScriptStep, scripted } from "../testing/scripted.ts";
import { defineTool } from "../tool/define-tool.ts";
import { ask } from "../tool/verdict.ts";
import { STORES } from "./stores.test-support.ts";

const T = threadId("t");
const SILENT = { warn() {}, error() {} };

function open(store: QueueStore, turns: readonly ScriptStep[], init: Partial<RuntimeInit> = {}) {
  return createRuntime({
    providers: { scripted: scripted(turns) },
    models: { fast: { provider: "scripted", model: "m" } },
    agents: { default: { model: "fast" }, other: { model: "fast" } },
    log: SILENT,
    store,
    ...init,
  });
}

/** A worker whose store fails whoever takes a run up, until it is dead. */
async function bury(store: QueueStore, thread = "t", scope?: string): Promise<string> {
  const broken =
    (commit: QueueStore["commit"]): QueueStore["commit"] =>
    (given) =>
      given.fence === undefined || given.dispatch?.type === "dead-letter" ? commit(given) : Promise.reject(new Error("the disk is full"));
  const scoped: QueueStore["scoped"] = (id) => {
    const own = store.scoped(id);
    return { ...own, commit: broken(own.commit) };
  };
  await using worker = open({ ...store, scoped, commit: broken(store.commit) }, [], { maxAttempts: 1 });
  const verbs = scope === undefined ? worker : worker.scoped(scope);
  const { runId: id } = await verbs.start({ agent: "other", thread, input: `say ${thread}` });
  const own = scope === undefined ? store : store.scoped(scopeId(scope));
  await expect.poll(async () => (await own.runs.load(id))?.status).toBe("done");
  return id;
}

const deadOf = (store: QueueStore) => store.dispatches.countByStatus().then((counts) => counts["dead-letter"]);

describe.each(STORES)("dead letters on %s", (_, make) => {
  test("are listed by tenant, in pages, with what they are and why they died", async () => {
    await using store = make();
    const ids: string[] = [];
    for (const thread of ["t1", "t2", "t3"]) ids.push(await bury(store, thread));
    const foreign = await bury(store, "t1", "acme");
    await using runtime = open(store, [], { workers: false });
    const { items, next } = await runtime.deadLetters.list();
    expect(next).toBeUndefined();
    expect(items.map((each) => each.runId)).toEqual(ids);
    expect(items[0]).toEqual({
      ...{ id: ids[0], runId: ids[0], threadId: "t1", attempts: 1 },
      error: expect.stringContaining("the disk is full"),
      createdAt: expect.any(Number),
      diedAt: expect.any(Number),
    });
    const first = await runtime.deadLetters.list({ limit: 2 });
    expect(first.items).toEqual(items.slice(0, 2));
    expect((await runtime.deadLetters.list({ limit: 2, after: first.next ?? expect.fail("there is more") })).items).toEqual(items.slice(2));

    const acme = runtime.scoped("acme");
    expect((await acme.deadLetters.list()).items.map((each) => each.runId)).toEqual([foreign]);
    await expect(acme.deadLetters.replay(ids[0] ?? "")).rejects.toMatchObject({ code: "storage_not_found" });
    await expect(acme.deadLetters.drop(ids[0] ?? "")).rejects.toMatchObject({ code: "storage_not_found" });
    expect((await runtime.scoped("nobody").deadLetters.list()).items).toEqual([]);
    expect((await runtime.deadLetters.list()).items).toEqual(items);
  });

  test("replay puts one into the queue once, with all of its tries, for a new run that answers its message", async () => {
    await using store = make();
    const id = await bury(store);
    await using idle = open(store, [], { workers: false });
    const again = await idle.deadLetters.replay(id);
    expect(again).toEqual({ runId: expect.any(String), threadId: "t" });
    expect(again.runId).not.toBe(id);
    expect(await store.dispatches.load(dispatchId(id))).toMatchObject({
      status: "queued",
      attemptCount: 0,
      maxAttempts: 1,
      runId: again.runId,
    });
    expect(await deadOf(store)).toBe(0);
    await expect(idle.deadLetters.replay(id)).rejects.toMatchObject({ code: "storage_not_found" });
    await expect(idle.deadLetters.drop(id)).rejects.toMatchObject({ code: "storage_not_found" });

    await using worker = open(store, [text("here I am")]);
    expect(await worker.wait(again.runId)).toMatchObject({ status: "done", text: "here I am" });
    const run = await store.runs.load(again.runId);
    expect(run).toMatchObject({ agentId: "other", activation: { intent: { type: "continuation-from-run", runId: id } } });
    expect(await store.runs.load(runId(id))).toMatchObject({ status: "done", outcome: { termination: { code: "dead_letter" } } });
    const { items } = await store.messages.list(T, {});
    expect(items.map(({ message }) => message.role)).toEqual(["user", "assistant"]);
    expect((await worker.pending.list("t")).entries).toEqual([]);
  });

  test("a run that had begun is answered by a new one, from what is on record", async () => {
    await using store = make();
    const { promise: began, resolve } = Promise.withResolvers<void>();
    const stuck = defineTool({
      id: "stuck",
      description: "",
      input: z.object({}),
      idempotent: true,
      execute: (_input, { signal }) => {
        resolve();
        return new Promise<string>((done) => signal.addEventListener("abort", () => done("no")));
      },
    });
    const node = { name: "host/boot/1", isGone: () => false };
    const owner = open(store, [toolCall("stuck", {})], { tools: [stuck], node, maxAttempts: 1, cancelGraceMs: 0 });
    const { runId: id } = await owner.start({ thread: "t", input: "hang" });
    await began;
    // Its process is gone, with the last of its tries.
    const seer = { name: "host/boot/2", isGone: (name: string) => name === node.name };
    await using worker = open(store, [text("all right")], { tools: [stuck], node: seer });
    expect(await worker.wait(id)).toMatchObject({ status: "failed", error: { code: "dead_letter" } });
    const { runId: next } = await worker.deadLetters.replay(id);
    expect(await worker.wait(next)).toMatchObject({ status: "done", text: "all right" });
    const { items } = await store.messages.list(T, { visibility: "external" });
    expect(items.filter(({ message }) => message.role === "user")).toHaveLength(1);
    await owner.close();
  });

  test("drop gives one up for good, with the message that only its run would have read", async () => {
    await using store = make();
    const id = await bury(store);
    await using runtime = open(store, [text("fresh")]);
    expect((await runtime.pending.list("t")).entries).toHaveLength(1);
    expect(await runtime.deadLetters.drop(id)).toMatchObject({ id, runId: id, threadId: "t" });
    expect((await runtime.deadLetters.list()).items).toEqual([]);
    expect((await runtime.pending.list("t")).entries).toEqual([]);
    for (const verb of ["drop", "replay"] as const) {
      for (const unknown of [id, "nobody"]) {
        await expect(runtime.deadLetters[verb](unknown)).rejects.toMatchObject({ code: "storage_not_found" });
      }
    }
    await expect(runtime.deadLetters.replay(" ")).rejects.toMatchObject({ code: "invalid_id" });
    expect(await runtime.run({ thread: "t", input: "anew" })).toMatchObject({ status: "done", text: "fresh" });
  });

  test("of several who replay one at once, one does, and the message is answered once", async () => {
    await using store = make();
    const id = await bury(store);
    await using runtime = open(store, [text("once"), text("twice")], { workers: false });
    const outcomes = await Promise.allSettled(Array.from({ length: 4 }, () => runtime.deadLetters.replay(id)));
    expect(outcomes.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
    for (const outcome of outcomes) if (outcome.status === "rejected") expect(outcome.reason).toMatchObject({ code: "storage_not_found" });
    expect(await store.dispatches.countByStatus()).toMatchObject({ queued: 1, "dead-letter": 0 });
    await using _worker = open(store, [text("once"), text("twice")]);
    await expect.poll(() => store.dispatches.countByStatus()).toMatchObject({ queued: 0, claimed: 0, acked: 1 });
    expect(await store.messages.count(T)).toBe(2);
  });

  test("one that is replayed before another run of its thread begins to wait ends that run when it has its turn", async () => {
    await using store = make();
    const pay = defineTool({ id: "pay", description: "", input: z.object({}), approve: () => ask("Pay?"), execute: () => "paid" });
    const refusing: Provider = {
      name: "scripted",
      stream() {
        throw new InferenceError({ type: "unauthorized", message: "no key" });
      },
    };
    await using idle = open(store, [], { workers: false });
    const { runId: dead } = await idle.start({ thread: "t", input: "first" });
    {
      // It dies in its first step: its message is in the log.
      await using _broken = open(store, [], { providers: { scripted: refusing }, maxAttempts: 1 });
      await expect.poll(() => deadOf(store)).toBe(1);
    }
    const waiting = await idle.start({ thread: "t", input: "pay" });
    const { runId: again } = await idle.deadLetters.replay(dead);
    await using worker = open(store, [toolCall("pay", {}), text("answered")], { tools: [pay] });
    expect(await worker.wait(again)).toMatchObject({ status: "done", text: "answered" });
    expect(await store.runs.load(waiting.runId)).toMatchObject({ status: "done", outcome: { termination: { type: "cancelled" } } });
    expect(await store.runs.listOpenTickets(waiting.runId)).toEqual([]);
    await expect.poll(() => store.dispatches.countByStatus()).toMatchObject({ queued: 0, claimed: 0 });
  });

  test("replay withdraws no ticket: while a run of the thread waits it is refused, and nothing has changed", async () => {
    await using store = make();
    const id = await bury(store);
    const pay = defineTool({ id: "pay", description: "", input: z.object({}), approve: () => ask("Pay?"), execute: () => "paid" });
    await using runtime = open(store, [toolCall("pay", {}), text("never"), text("ok")], { tools: [pay] });
    const waiting = await runtime.run({ thread: "t", input: "pay" });
    expect(waiting.status).toBe("waiting");
    await expect(runtime.deadLetters.replay(id)).rejects.toMatchObject({
      code: "thread_already_running",
      details: { runId: waiting.runId },
    });
    expect((await runtime.deadLetters.list()).items).toHaveLength(1);
    expect(await store.runs.load(waiting.runId)).toMatchObject({ status: "waiting" });
    await runtime.cancel(waiting.runId);
    const { runId: next } = await runtime.deadLetters.replay(id);
    expect(await runtime.wait(next)).toMatchObject({ status: "done" });
  });
});

test("without a queue there are no dead letters, and that is said", async () => {
  const { dispatches: _d, pending: _p, queue: _q, ...store } = memoryStore();
  await using runtime = createRuntime({
    providers: { scripted: scripted([]) },
    models: { fast: { provider: "scripted", model: "m" } },
    agents: { default: { model: "fast" } },
    store,
  });
  await expect(runtime.deadLetters.list()).rejects.toMatchObject({ code: "capability_mismatch", details: { verb: "deadLetters" } });
});

test.each([{ limit: 0 }, { limit: -1 }, { limit: 201 }, { limit: "a" }, { after: "x" }, { after: {} }, { cursor: "x" }, null])(
  "a query that cannot be is refused: %o",
  async (query) => {
    await using store = memoryStore();
    await using runtime = open(store, []);
    // @ts-expect-error: plain JavaScript may give anything.
    await expect(runtime.deadLetters.list(query)).rejects.toMatchObject({ code: "invalid_activation" });
  },
);
