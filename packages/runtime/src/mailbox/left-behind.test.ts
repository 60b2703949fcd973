import { dispatchId, type InferenceRequest, messageText, type RunId, runId, threadId } from "@awaken/contract";
import type { QueueStore } from "@awaken/contract/store";
import { describe, expect, test } from "vitest";
import * as z from "zod";
import { createRuntime, type Runtime } from "../create-runtime.ts";
import { text, toolCall } from "../testing/script.ts";
import { type ScriptStep, scripted } from "../testing/scripted.ts";
import { defineTool } from "../tool/define-tool.ts";
import { ask } from "../tool/verdict.ts";
import { STORES } from "./stores.test-support.ts";

const T = threadId("t");

/** Does what people say first, and says what it has read last. */
const lead: ScriptStep = ({ messages }: InferenceRequest) => {
  const last = messages.at(-1);
  const said = last === undefined ? "" : messageText(last);
  if (last?.role !== "user") return text(`then ${said}`);
  if (said === "pay") return toolCall("pay", {});
  return said === "delegate" ? toolCall("agent_run_clerk", { prompt: "pay" }) : text(`read ${said}`);
};

const clerk: ScriptStep = ({ messages }: InferenceRequest) => (messages.at(-1)?.role === "user" ? toolCall("pay", {}) : text("paid"));

function office(store: QueueStore, workers: boolean): Runtime {
  const pay = defineTool({ id: "pay", description: "Pays", input: z.object({}), approve: () => ask("Pay?"), execute: () => "paid" });
  const many = (step: ScriptStep) => scripted(new Array<ScriptStep>(20).fill(step));
  return createRuntime({
    providers: { lead: many(lead), clerk: many(clerk) },
    models: { l: { provider: "lead", model: "m" }, c: { provider: "clerk", model: "m" } },
    agents: { lead: { model: "l", delegates: ["clerk"] }, clerk: { model: "c", description: "Pays" } },
    tools: [pay],
    log: { warn() {}, error() {} },
    ...{ store, workers },
  });
}

/** What people and agents said on the thread, in order. */
async function logOf(store: QueueStore): Promise<readonly string[]> {
  const { items } = await store.messages.list(T, { visibility: "all" });
  return items.map(({ message }) => messageText(message));
}

const queuedOn = async (store: QueueStore) => (await store.dispatches.list(T, { statuses: ["queued"] })).map((row) => row.dispatchId);

type Instead = (runtime: Runtime, store: QueueStore) => Promise<unknown>;

const leave = async (runtime: Runtime) => runtime.send("t", "leave it", { mode: "interrupt" });

/** What comes instead of the run that waits, and never begins. */
const NEVER: readonly (readonly [string, Instead])[] = [
  ["is cancelled", async (runtime) => expect(await runtime.cancel((await leave(runtime)).runId ?? "")).toBe(true)],
  [
    "has a record, and is cancelled",
    async (runtime) => {
      await runtime.start({ agent: "lead", thread: "t", input: "leave it", runId: "instead", onBusy: "interrupt" });
      expect(await runtime.cancel("instead")).toBe(true);
    },
  ],
  [
    "is interrupted",
    async (runtime) => {
      await leave(runtime);
      expect(await runtime.interrupt("t")).toMatchObject({ superseded: 1 });
    },
  ],
  ["is taken back", async (runtime) => runtime.pending.retract("t", (await leave(runtime)).messageIds[0] ?? "", 1)],
  [
    "has a record, and is taken back",
    async (runtime) => {
      const message = { id: "said", role: "user", content: "leave it" } as const;
      await runtime.start({ agent: "lead", thread: "t", input: [message], runId: "instead", onBusy: "interrupt" });
      await runtime.pending.retract("t", "said", 1);
    },
  ],
];

describe.each(STORES)("a run that waits for a delegate, on %s", (_, make) => {
  test.each(NEVER)("goes on when the delegate is over, also when what was to come instead %s", async (_name, instead) => {
    await using store = make();
    const a = office(store, false);
    const first = await a.run({ agent: "lead", thread: "t", input: "delegate" });
    const [child] = (await store.runs.list({ parentRunId: first.runId })).items;
    expect(await a.cancelAndWait(child?.runId ?? "")).toBe(true);
    expect(await queuedOn(store)).toEqual([`wake:${child?.runId}`]);
    await instead(a, store);
    const b = office(store, true);
    await expect.poll(async () => (await store.runs.load(first.runId))?.status).toBe("done");
    expect((await logOf(store)).at(-1)).toMatch(/^then /);
    await b.close();
    await a.close();
  });
});

type Say = (runtime: Runtime, waits: RunId) => Promise<unknown>;

const SAID: readonly (readonly [string, Say])[] = [
  ["queue", (runtime) => runtime.send("t", "by the way", { mode: "queue" })],
  ["steer", (runtime) => runtime.send("t", "by the way", { mode: "steer" })],
  ["queue, by the id of the run", (runtime, waits) => runtime.send(waits, "by the way", { mode: "queue" })],
];

describe.each(STORES)("what is said to a run that waits for a decision, on %s", (_, make) => {
  test.each(SAID)("and ends by a cancel before it goes on is read by the next one: %s", async (_name, say) => {
    await using store = make();
    const a = office(store, false);
    const first = await a.run({ agent: "lead", thread: "t", input: "pay" });
    expect(await say(a, first.runId)).toMatchObject({ status: "behind-tickets" });
    expect(await a.cancelAndWait(first.runId)).toBe(true);
    const b = office(store, true);
    await expect.poll(async () => (await logOf(store)).slice(-2)).toEqual(["by the way", "read by the way"]);
    await b.close();
    await a.close();
  });

  test.each(SAID)("also when somebody had woken it, and has nothing to do when he comes: %s", async (_name, say) => {
    await using store = make();
    const a = office(store, false);
    const first = await a.run({ agent: "lead", thread: "t", input: "pay" });
    await say(a, first.runId);
    await store.dispatches.enqueue({ dispatchId: dispatchId("late"), threadId: T, runId: runId(first.runId) });
    expect(await a.cancelAndWait(first.runId)).toBe(true);
    expect(await queuedOn(store)).toEqual(["late"]);
    const b = office(store, true);
    await expect.poll(async () => (await logOf(store)).slice(-2)).toEqual(["by the way", "read by the way"]);
    expect((await store.pending.load(T)).entries).toEqual([]);
    await b.close();
    await a.close();
  });

  test.each(SAID)("also when another one that was started has it left behind: %s", async (_name, say) => {
    await using store = make();
    const a = office(store, false);
    const first = await a.run({ agent: "lead", thread: "t", input: "pay" });
    await say(a, first.runId);
    expect(await a.run({ agent: "lead", thread: "t", runId: "other", input: "hello" })).toMatchObject({ status: "done" });
    const b = office(store, true);
    await expect.poll(async () => (await logOf(store)).slice(-2)).toEqual(["by the way", "read by the way"]);
    await b.close();
    await a.close();
  });

  test("waits there with it, and leaves its ticket open, when another one is cancelled before it began", async () => {
    await using store = make();
    const a = office(store, false);
    const first = await a.run({ agent: "lead", thread: "t", input: "pay" });
    const [ticket] = first.status === "waiting" ? first.tickets : [];
    const { messageIds } = await a.send("t", "by the way", { mode: "queue" });
    await a.start({ agent: "lead", thread: "t", runId: "other", input: "hello" });
    expect(await a.cancel("other")).toBe(true);
    const b = office(store, true);
    await expect.poll(async () => (await store.stats()).dispatches).toMatchObject({ queued: 0, claimed: 0 });
    expect(await store.runs.load(first.runId)).toMatchObject({ status: "waiting", waiting: { tickets: [{ id: ticket?.id }] } });
    expect((await store.pending.load(T)).entries).toMatchObject([{ pendingId: messageIds[0] }]);
    const run = await b.decide(ticket?.id ?? "", { action: "approve" });
    expect(await run.result).toMatchObject({ status: "done", text: "read by the way" });
    await b.close();
    await a.close();
  });
});
