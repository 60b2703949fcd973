import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { memoryStore } from "@awaken/stores/memory";
import { describe, expect, it } from "vitest";
import * as z from "zod";
import { createRuntime, type RuntimeInit } from "../create-runtime.ts";
import { checkEvents } from "../testing/event-checker.ts";
import { text, toolCalls } from "../testing/script.ts";
import { type ScriptStep, scripted } from "../testing/scripted.ts";
import { ticketsOf } from "../testing/tickets-of.ts";
import { defineTool } from "../tool/define-tool.ts";
import { ask } from "../tool/verdict.ts";
import type { RunStream } from "./run-stream.ts";

const SILENT = { warn() {}, error() {} };
const APPROVE = { action: "approve" } as const;

const two = toolCalls([
  { name: "pay", input: { amount: 1 }, id: "c1" },
  { name: "pay", input: { amount: 2 }, id: "c2" },
]);

/** The payment of 1 is kept until it is released. */
function bank() {
  const began = Promise.withResolvers<void>();
  const { promise, resolve: release } = Promise.withResolvers<void>();
  const pay = defineTool({
    id: "pay",
    description: "",
    input: z.object({ amount: z.number() }),
    approve: ({ amount }) => ask(`Pay ${amount}?`),
    execute: async ({ amount }) => {
      if (amount !== 1) return amount;
      began.resolve();
      await promise;
      return amount;
    },
  });
  return { pay, began: began.promise, release };
}

function open(turns: readonly ScriptStep[], init: Partial<RuntimeInit>) {
  return createRuntime({
    providers: { scripted: scripted(turns) },
    models: { fast: { provider: "scripted", model: "scripted-1" } },
    agents: { default: { model: "fast" } },
    log: SILENT,
    ...init,
  });
}

async function read(run: RunStream) {
  const events = [];
  for await (const event of run) events.push(event);
  return events;
}

describe("what decide gives", () => {
  it("is the run from there on: its events, and its result", async () => {
    const { pay, release } = bank();
    release();
    const runtime = open([two, text("pa", "id")], { tools: [pay], store: memoryStore() });
    const first = await runtime.run({ thread: "t", input: "pay" });
    const run = await runtime.decideAll(ticketsOf(first).map(({ id }) => ({ ticket: id, decision: APPROVE })));
    expect([run.id, run.threadId]).toEqual([first.runId, "t"]);
    const events = await read(run);
    checkEvents(events);
    expect(events.filter(({ type }) => type === "text-delta" || type === "tool-call-resumed")).toHaveLength(4);
    expect(await run.result).toMatchObject({ status: "done", text: "paid", runId: first.runId });
  });

  it("follows a run that is under way here, and whoever repeats a decision follows it too", async () => {
    const { pay, began, release } = bank();
    const runtime = open([two, text("paid")], { tools: [pay], store: memoryStore() });
    const first = await runtime.run({ thread: "t", input: "pay" });
    const [one, other] = ticketsOf(first).map(({ id }) => id);
    const decision = { ...APPROVE, id: "d1" };
    const runs = [await runtime.decide(one ?? "", decision)];
    await began;
    runs.push(await runtime.decide(one ?? "", decision));
    const late = runtime.decide(other ?? "", APPROVE);
    release();
    runs.push(await late);
    for (const run of runs) {
      const events = await read(run);
      expect(events.at(-1)).toMatchObject({ type: "run-end", termination: { type: "natural-end" } });
      expect(await run.result).toMatchObject({ status: "done", text: "paid" });
    }
    const over = await runtime.decide(one ?? "", decision);
    expect(await read(over)).toEqual([]);
    expect(await over.result).toMatchObject({ status: "done", text: "paid" });
  });

  it("need not be read: nothing is kept for it, and a failure of the run harms nobody", async () => {
    const { pay, began, release } = bank();
    const runtime = open([two, text("x".repeat(10))], { tools: [pay] });
    const first = await runtime.run({ thread: "t", input: "pay" });
    const [one, other] = ticketsOf(first).map(({ id }) => id);
    const handles = [new WeakRef(await runtime.decide(one ?? "", APPROVE))];
    await began;
    await new Promise((resolve) => setImmediate(resolve));
    setFlagsFromString("--expose-gc");
    runInNewContext("gc()");
    expect(handles[0]?.deref()).toBeUndefined();
    release();
    await (await runtime.decide(other ?? "", APPROVE)).result;
    await runtime[Symbol.asyncDispose]();
  });

  it("keeps a reader alive who waits for the next event and has nothing else", async () => {
    const { pay, began, release } = bank();
    const runtime = open([two], { tools: [pay] });
    const first = await runtime.run({ thread: "t", input: "pay" });
    const ended = runtime.decide(ticketsOf(first)[0]?.id ?? "", APPROVE).then(read);
    await began;
    await new Promise((resolve) => setImmediate(resolve));
    setFlagsFromString("--expose-gc");
    runInNewContext("gc()");
    release();
    expect((await ended).at(-1)).toMatchObject({ type: "run-end", termination: { type: "suspended" } });
  });
});
