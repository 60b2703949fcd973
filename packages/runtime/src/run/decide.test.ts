import { AwakenError, type Provider } from "@awaken/contract";
import type { Store, ThreadCommit } from "@awaken/contract/store";
import { memoryStore } from "@awaken/stores/memory";
import { describe, expect, it } from "vitest";
import * as z from "zod";
import { createRuntime, type RuntimeInit } from "../create-runtime.ts";
import { text, toolCall, toolCalls } from "../testing/script.ts";
import { scripted } from "../testing/scripted.ts";
import { ticketsOf } from "../testing/tickets-of.ts";
import { defineTool } from "../tool/define-tool.ts";
import { ask } from "../tool/verdict.ts";
import type { DecisionInput } from "./decision-input.ts";

const SILENT = { warn() {}, error() {} };

/** A tool that asks first and may be held while it runs. */
function payments() {
  const paid: number[] = [];
  const holds = new Map<number, Promise<void>>();
  const began = new Map<number, () => void>();
  const tool = defineTool({
    id: "pay",
    description: "",
    input: z.object({ amount: z.number() }),
    approve: ({ amount }) => ask(`Pay ${amount}?`),
    execute: async ({ amount }) => {
      began.get(amount)?.();
      await holds.get(amount);
      paid.push(amount);
      return { paid: amount };
    },
  });
  /** Keeps the payment of this amount until it is released. */
  const hold = (amount: number) => {
    const { promise, resolve } = Promise.withResolvers<void>();
    const { promise: isRunning, resolve: onRunning } = Promise.withResolvers<void>();
    holds.set(amount, promise);
    began.set(amount, onRunning);
    return { release: resolve, isRunning };
  };
  return { paid, tool, hold };
}

type Payments = ReturnType<typeof payments>;

function open(provider: Provider, { tool }: Payments, init: Partial<RuntimeInit> = {}) {
  return createRuntime({
    providers: { scripted: provider },
    models: { fast: { provider: "scripted", model: "scripted-1" } },
    agents: { default: { model: "fast" } },
    tools: [tool],
    log: SILENT,
    ...init,
  });
}

const both = toolCalls([
  { name: "pay", input: { amount: 1 }, id: "c1" },
  { name: "pay", input: { amount: 2 }, id: "c2" },
]);
const one = toolCall("pay", { amount: 1 }, { id: "c1" });
const APPROVE = { action: "approve" } as const;

/** The store with something done before each commit. */
function beforeCommit(store: Store, act: (commit: ThreadCommit) => void | Promise<void>): Store {
  return {
    ...store,
    commit: async (commit) => {
      await act(commit);
      return store.commit(commit);
    },
    transaction: (work) =>
      store.transaction((ports) =>
        work({
          ...ports,
          commit: async (commit) => {
            await act(commit);
            return ports.commit(commit);
          },
        }),
      ),
  };
}

describe("decisions", () => {
  it("are taken by another runtime over the same store, and every runtime sees the end", async () => {
    const store = memoryStore();
    const pay = payments();
    const model = scripted([one, text("paid")]);
    const first = await open(model, pay, { store }).run({ thread: "t", input: "pay" });
    expect(first).toMatchObject({ status: "waiting", tickets: [{ toolCallId: "c1", input: { amount: 1 } }] });
    const later = open(model, pay, { store });
    await later.decide("c1", { action: "approve", input: { amount: 5 }, by: "ana", run: first.runId });
    expect(await later.wait(first.runId)).toMatchObject({ status: "done", text: "paid", runId: first.runId });
    expect(await open(model, pay, { store }).wait(first.runId)).toMatchObject({ status: "done", text: "paid", steps: 2 });
    expect(pay.paid).toEqual([5]);
    model.assertDone();
  });

  it("with one id decide once, one after the other or at the same time, here or over the same store", async () => {
    const store = memoryStore();
    const pay = payments();
    const model = scripted([one, text("paid")]);
    const [here, there] = [open(model, pay, { store }), open(model, pay, { store })];
    const { runId } = await here.run({ thread: "t", input: "pay" });
    const decision = { ...APPROVE, id: "d1", run: runId };
    await Promise.all([
      here.decide("c1", decision),
      there.decide("c1", decision),
      here.decide("c1", decision),
      there.decide("c1", decision),
    ]);
    await Promise.all([here.wait(runId), there.wait(runId)]);
    await here.decide("c1", decision);
    await there.decide("c1", decision);
    expect(await here.wait(runId)).toMatchObject({ status: "done", text: "paid" });
    expect(pay.paid).toEqual([1]);
    model.assertDone();
  });

  it("with two ids about one ticket: the first counts, the second is told that it is not open", async () => {
    const pay = payments();
    const runtime = open(scripted([one, text("paid")]), pay);
    const { runId } = await runtime.run({ thread: "t", input: "pay" });
    const decided = await Promise.allSettled([
      runtime.decide("c1", { ...APPROVE, id: "d1", run: runId }),
      runtime.decide("c1", { ...APPROVE, id: "d2", run: runId }),
    ]);
    expect(decided.map((result) => result.status)).toEqual(["fulfilled", "rejected"]);
    expect(decided[1]).toMatchObject({ reason: { code: "ticket_not_open" } });
    expect(await runtime.wait(runId)).toMatchObject({ text: "paid" });
    expect(pay.paid).toEqual([1]);
  });

  it("about another ticket of a run that is being resumed are not lost", async () => {
    const pay = payments();
    const runtime = open(scripted([both, text("all paid")]), pay, { store: memoryStore() });
    const { runId } = await runtime.run({ thread: "t", input: "pay" });
    const held = pay.hold(1);
    await runtime.decide("c1", { ...APPROVE, run: runId });
    await held.isRunning;
    const second = runtime.decide("c2", { ...APPROVE, run: runId });
    held.release();
    await second;
    expect(await runtime.wait(runId)).toMatchObject({ status: "done", text: "all paid" });
    expect(pay.paid).toEqual([1, 2]);
  });

  it("that come together about two tickets are both taken, in any order", async () => {
    const pay = payments();
    const runtime = open(scripted([both, text("all paid")]), pay);
    const { runId } = await runtime.run({ thread: "t", input: "pay" });
    await Promise.all([runtime.decide("c2", { ...APPROVE, run: runId }), runtime.decide("c1", { ...APPROVE, run: runId })]);
    expect(await runtime.wait(runId)).toMatchObject({ status: "done", text: "all paid" });
    expect(pay.paid.toSorted()).toEqual([1, 2]);
  });

  it("that come while the run writes its last commit wait for it and take the run up again", async () => {
    const pay = payments();
    const memory = memoryStore();
    let late: Promise<unknown> | undefined;
    const store = beforeCommit(memory, ({ run }) => {
      // The run has found no further decision, and is about to leave as waiting.
      if (run?.status !== "waiting" || run.decided.length !== 1 || late !== undefined) return;
      late = runtime.decide("c2", { ...APPROVE, run: runId });
    });
    const runtime = open(scripted([both, text("all paid")]), pay, { store });
    const { runId } = await runtime.run({ thread: "t", input: "pay" });
    await runtime.decide("c1", { ...APPROVE, run: runId });
    await runtime.wait(runId);
    expect(late).toBeDefined();
    await late;
    expect(await runtime.wait(runId)).toMatchObject({ status: "done", text: "all paid" });
    expect(pay.paid).toEqual([1, 2]);
  });

  it("server-and-durability 77: two processes decide two tickets of one run at the same moment: both succeed, each call once", async () => {
    const store = memoryStore();
    const pay = payments();
    const model = scripted([both, text("all paid")]);
    const [here, there] = [open(model, pay, { store }), open(model, pay, { store })];
    const { runId } = await here.run({ thread: "t", input: "pay" });
    const held = pay.hold(1);
    await Promise.all([here.decide("c1", { ...APPROVE, run: runId }), there.decide("c2", { ...APPROVE, run: runId })]);
    held.release();
    await expect.poll(async () => (await store.runs.load(runId))?.status).toBe("done");
    expect(await there.wait(runId)).toMatchObject({ status: "done", text: "all paid" });
    expect(pay.paid.toSorted()).toEqual([1, 2]);
  });

  it("of a batch are taken together or not at all", async () => {
    const pay = payments();
    const runtime = open(scripted([both, text("all paid")]), pay);
    const { runId } = await runtime.run({ thread: "t", input: "pay" });
    const refused: readonly (readonly [{ readonly ticket: string; readonly decision: DecisionInput }, string])[] = [
      [{ ticket: "c9", decision: { ...APPROVE, run: runId } }, "ticket_not_found"],
      [{ ticket: "c2", decision: { action: "approve", input: { amount: "much" }, run: runId } }, "invalid_resume"],
      [{ ticket: "c1", decision: { ...APPROVE, run: runId } }, "invalid_resume"],
    ];
    for (const [second, code] of refused) {
      await expect(runtime.decideAll([{ ticket: "c1", decision: { ...APPROVE, run: runId } }, second])).rejects.toMatchObject({ code });
      expect(await runtime.wait(runId)).toMatchObject({ status: "waiting", tickets: [{ toolCallId: "c1" }, { toolCallId: "c2" }] });
    }
    await expect(runtime.decideAll([])).rejects.toMatchObject({ code: "invalid_activation" });
    expect(pay.paid).toEqual([]);
  });

  it("that say nothing are refused before anything is looked up", async () => {
    const runtime = open(scripted([]), payments());
    const wrong: readonly unknown[] = [
      { action: "maybe" },
      { action: "answer" },
      { action: "approve", input: () => {} },
      { ...APPROVE, id: " " },
    ];
    for (const decision of wrong) {
      await expect(runtime.decide("c1", decision as DecisionInput)).rejects.toMatchObject({ code: "invalid_activation" });
    }
    await expect(runtime.decide(" ", APPROVE)).rejects.toMatchObject({ code: "invalid_activation" });
    await expect(runtime.decide("c1", APPROVE)).rejects.toMatchObject({ code: "ticket_not_found" });
  });

  it("about a call reach it only with the id of its run: neither alone nor with the thread", async () => {
    const pay = payments();
    const runtime = open(scripted([one, one, text("a"), text("b")]), pay);
    const [first, second] = [await runtime.run({ thread: "t1", input: "x" }), await runtime.run({ thread: "t2", input: "x" })];
    await expect(runtime.decide("c1", APPROVE)).rejects.toMatchObject({ code: "ticket_not_found" });
    await expect(runtime.decide("c1", { ...APPROVE, run: "t2" })).rejects.toMatchObject({ code: "ticket_not_found" });
    await runtime.decide("c1", { ...APPROVE, run: second.runId });
    expect(await runtime.wait(second.runId)).toMatchObject({ status: "done" });
    expect(await runtime.wait(first.runId)).toMatchObject({ status: "waiting" });
    const ticket = ticketsOf(first)[0]?.id ?? "";
    await expect(runtime.decide(ticket, { ...APPROVE, run: "t2" })).rejects.toMatchObject({ code: "ticket_not_found" });
    await runtime.decide(ticket, { ...APPROVE, run: "t1" });
    expect(await runtime.wait(first.runId)).toMatchObject({ status: "done" });
    expect(pay.paid).toEqual([1, 1]);
  });

  it("deny with a reason that the model reads, or answer for a tool that the client runs", async () => {
    const model = scripted([one, text("sorry"), toolCall("pick", {}, { id: "c2" }), text("blue it is")]);
    const pay = payments();
    const runtime = open(model, pay);
    const first = await runtime.run({ thread: "t", input: "pay" });
    await runtime.decide("c1", { action: "deny", reason: "too much", run: first.runId });
    expect(await runtime.wait(first.runId)).toMatchObject({ text: "sorry" });
    const tools = [{ id: "pick", name: "pick", description: "", parameters: { type: "object" } }];
    const second = await runtime.run({ thread: "t", input: "pick", frontendTools: tools });
    const [ticket] = ticketsOf(second);
    await runtime.decide(ticket?.id ?? "", { action: "answer", result: "blue" });
    expect(await runtime.wait(second.runId)).toMatchObject({ text: "blue it is", status: "done" });
    expect(JSON.stringify(model.requests[1]?.messages)).toContain("too much");
    expect(model.requests[3]?.tools.map((tool) => tool.id)).toEqual(["pay", "pick"]);
    expect(pay.paid).toEqual([]);
  });

  it("about a run whose agent is gone fail and leave it waiting; with the agent back it goes on", async () => {
    const pay = payments();
    const runtime = open(scripted([one, text("paid")]), pay, { agents: { default: { model: "fast" }, gone: { model: "fast" } } });
    const { runId } = await runtime.run({ agent: "gone", thread: "t", input: "pay" });
    runtime.registry.update((draft) => {
      delete draft.agents["gone"];
    });
    await expect(runtime.decide("c1", { ...APPROVE, run: runId })).rejects.toMatchObject({ code: "agent_not_found" });
    await expect(runtime.run({ thread: "t", input: "hello?" })).rejects.toMatchObject({ code: "agent_not_found" });
    expect(await runtime.wait(runId)).toMatchObject({ status: "waiting", tickets: [{ toolCallId: "c1" }] });
    runtime.registry.update((draft) => {
      draft.agents["gone"] = { model: "fast" };
    });
    await runtime.decide("c1", { ...APPROVE, run: runId });
    expect(await runtime.wait(runId)).toMatchObject({ status: "done", text: "paid" });
  });

  it("that cannot be written are not taken: the run waits, and the next try works", async () => {
    const pay = payments();
    let isBroken = false;
    const store = beforeCommit(memoryStore(), () => {
      if (isBroken) throw new AwakenError("storage_io", "disk full");
    });
    const runtime = open(scripted([one, text("paid")]), pay, { store });
    const { runId } = await runtime.run({ thread: "t", input: "pay" });
    isBroken = true;
    await expect(runtime.decide("c1", { ...APPROVE, id: "d1", run: runId })).rejects.toMatchObject({ code: "storage_io" });
    isBroken = false;
    expect(await runtime.wait(runId)).toMatchObject({ status: "waiting" });
    await runtime.decide("c1", { ...APPROVE, id: "d1", run: runId });
    expect(await runtime.wait(runId)).toMatchObject({ text: "paid" });
    expect(pay.paid).toEqual([1]);
  });

  it("are streamed by whoever resumes the run with them", async () => {
    const pay = payments();
    const runtime = open(scripted([one, text("pa", "id")]), pay);
    const { runId } = await runtime.run({ thread: "t", input: "pay" });
    const run = runtime.stream({ thread: "t", resume: runId, decisions: [{ ticket: "c1", decision: APPROVE }] });
    const types: string[] = [];
    for await (const event of run) types.push(event.type);
    expect(types.filter((type) => ["run-start", "tool-call-resumed", "text-delta", "run-end"].includes(type))).toEqual([
      "run-start",
      "tool-call-resumed",
      "text-delta",
      "text-delta",
      "run-end",
    ]);
    expect(await run.result).toMatchObject({ runId, text: "paid" });
  });

  it("leave who decided what in the events of the run", async () => {
    const [pay, store] = [payments(), memoryStore()];
    const runtime = open(scripted([both, text("done")]), pay, { store });
    const { runId } = await runtime.run({ thread: "t", input: "pay" });
    await runtime.decideAll([
      { ticket: "c1", decision: { action: "approve", input: { amount: 5 }, by: "ana", run: runId } },
      { ticket: "c2", decision: { action: "deny", reason: "too much", by: "ben", run: runId } },
    ]);
    await runtime.wait(runId);
    const { items } = await store.events.list({ type: "run", runId }, {});
    const taken = items.filter(({ kind }) => kind === "decision-taken");
    expect(taken.map(({ payload }) => payload)).toMatchObject([
      { toolCallId: "c1", toolName: "pay", action: "approve", by: "ana", input: { amount: 5 } },
      { toolCallId: "c2", toolName: "pay", action: "deny", by: "ben", reason: "too much" },
    ]);
  });

  it("find a run that is named among any number with the same ticket: vendors repeat call ids", async () => {
    const pay = payments();
    const runtime = open(scripted([...Array.from({ length: 12 }, () => one), text("paid")]), pay);
    const runs: string[] = [];
    for (let index = 0; index < 12; index++) runs.push((await runtime.run({ thread: `t${index}`, input: "pay" })).runId);
    await expect(runtime.decide("c1", APPROVE)).rejects.toMatchObject({ code: "ticket_not_found" });
    await runtime.decide("c1", { ...APPROVE, run: runs[0] ?? "" });
    expect(await runtime.wait(runs[0] ?? "")).toMatchObject({ status: "done", text: "paid" });
    expect(pay.paid).toEqual([1]);
  });

  it("leave the shape of the answer as it was asked for, in any process", async () => {
    const [pay, store] = [payments(), memoryStore()];
    const output = z.object({ total: z.number() });
    const { runId } = await open(scripted([one]), pay, { store }).run({ thread: "t", input: "pay", output });
    const model = scripted([text("no JSON"), text('{"total":1}')]);
    const later = open(model, pay, { store });
    await later.decide("c1", { ...APPROVE, run: runId });
    expect(await later.wait(runId)).toMatchObject({ status: "done", output: { total: 1 } });
    expect(model.requests.map(({ responseFormat }) => responseFormat)).toMatchObject([
      { schema: { properties: { total: { type: "number" } } } },
      { schema: { properties: { total: { type: "number" } } } },
    ]);
  });

  it("by a tool's side: a call may wait again and again, each time with its own ticket", async () => {
    const pay = payments();
    const runtime = open(scripted([both, text("half"), text("rest")]), pay);
    const { runId } = await runtime.run({ thread: "t", input: "pay" });
    await runtime.decide("c1", { ...APPROVE, run: runId });
    expect(await runtime.wait(runId)).toMatchObject({ status: "waiting", tickets: [{ toolCallId: "c2" }] });
    await runtime.decide("c2", { action: "deny", run: runId });
    expect(await runtime.wait(runId)).toMatchObject({ status: "done", text: "half" });
    expect(pay.paid).toEqual([1]);
  });
});
