import { type InputMode, messageText, type RunId, runId, threadId } from "@awaken/contract";
import type { QueueStore } from "@awaken/contract/store";
import { memoryStore } from "@awaken/stores/memory";
import { sqliteStore } from "@awaken/stores/sqlite";
import { describe, expect, test } from "vitest";
import * as z from "zod";
import { text, toolCall } from "../testing/script.ts";
import { defineTool } from "../tool/define-tool.ts";
import { ask } from "../tool/verdict.ts";
import { open } from "./open.test-support.ts";

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

/** What was accepted on the thread, in order, with how it came: `steer be quick`. */
async function acceptedOn(store: QueueStore, thread = "t"): Promise<readonly string[]> {
  const { items } = await store.events.list({ type: "thread", threadId: threadId(thread) }, { limit: 200 });
  const texts = new Map(
    (await store.messages.list(threadId(thread), {})).items.map(({ message }) => [message.id as string, messageText(message)]),
  );
  return items.flatMap(({ kind, payload: { mode, messageIds } }) => {
    if (kind !== "input-accepted" || !Array.isArray(messageIds)) return [];
    return [`${mode} ${messageIds.map((id) => texts.get(String(id))).join(", ")}`];
  });
}

const isOver = (store: QueueStore, id: RunId | undefined) =>
  expect.poll(async () => (await store.runs.load(id ?? runId("none")))?.status).toBe("done");

const said = (mode: InputMode, words: string): string => `${mode} ${words}`;

describe.each([
  ["memory", () => memoryStore()],
  ["sqlite", () => sqliteStore(":memory:")],
] as const)("how messages came in is what their sender asked for, on %s", (_, make) => {
  test("run and start are a start, also when the run was queued behind another one", async () => {
    await using store = make();
    await using runtime = open(store, [text("one"), text("two"), text("three")]);
    await runtime.run({ thread: "t", input: "run" });
    await isOver(store, (await runtime.start({ thread: "t", input: "start" })).runId);
    await runtime.run({ thread: "t", input: "behind", onBusy: "queue" });
    expect(await acceptedOn(store)).toEqual([said("start", "run"), said("start", "start"), said("start", "behind")]);
  });

  test("steer is told as steer by the run that another process executes", async () => {
    await using store = make();
    const slow = lasting();
    await using here = open(store, [toolCall("slow", {}), text("quick")], { tools: [slow.tool], workers: false });
    await using there = open(store, [], { workers: false });
    const told: string[] = [];
    const run = here.stream({ thread: "t", input: "go" });
    const reading = (async () => {
      for await (const event of run) if (event.type === "input-accepted") told.push(event.mode);
    })();
    await slow.began;
    await there.send("t", "be quick", { mode: "steer" });
    slow.release();
    await Promise.all([run.result, reading]);
    expect(told).toEqual(["start", "steer"]);
    expect(await acceptedOn(store)).toEqual([said("start", "go"), said("steer", "be quick")]);
  });

  test("queue is told as queue by the run that is made for it", async () => {
    await using store = make();
    await using runtime = open(store, [text("both")], { workers: false });
    await runtime.send("t", "one", { mode: "queue" });
    const { runId: id } = await runtime.send("t", "two", { mode: "queue" });
    await using _worker = open(store, [text("both")]);
    await isOver(store, id);
    expect(await acceptedOn(store)).toEqual([said("queue", "one, two")]);
  });

  test("interrupt is told as interrupt; what was queued before it is read with it, and is told as queue", async () => {
    await using store = make();
    const slow = lasting();
    await using runtime = open(store, [toolCall("slow", {}), text("instead")], { tools: [slow.tool] });
    const run = runtime.stream({ thread: "t", input: "go" });
    await slow.began;
    await runtime.send("t", "later", { mode: "queue" });
    const { runId: id } = await runtime.send("t", "stop", { mode: "interrupt" });
    expect(await run.result).toMatchObject({ status: "cancelled" });
    await isOver(store, id);
    expect(await acceptedOn(store)).toEqual([said("start", "go"), said("queue", "later"), said("interrupt", "stop")]);
  });

  test("what is said to a run that waits resumes it, here and by a worker; what is sent behind its tickets stays what it was", async () => {
    await using store = make();
    await using runtime = open(
      store,
      [toolCall("pay", {}), text("then not"), toolCall("pay", {}), text("not either"), toolCall("pay", {}), text("read")],
      {
        tools: [guarded],
      },
    );
    await runtime.run({ thread: "t", input: "pay" });
    await runtime.run({ thread: "t", input: "leave it" });
    const second = await runtime.run({ thread: "t", input: "pay now" });
    await runtime.start({ thread: "t", input: "no" });
    await isOver(store, second.runId as RunId);
    expect(await acceptedOn(store)).toEqual([
      said("start", "pay"),
      said("resume", "leave it"),
      said("start", "pay now"),
      said("resume", "no"),
    ]);
    const third = await runtime.run({ thread: "u", input: "pay" });
    await runtime.send("u", "by the way", { mode: "queue" });
    if (third.status !== "waiting") return expect.fail(third.status);
    await (await runtime.decide(third.tickets[0]?.id ?? "", { action: "approve" })).result;
    expect(await acceptedOn(store, "u")).toEqual([said("start", "pay"), said("queue", "by the way")]);
  });
});
