import { threadId } from "@awaken/contract";
import type { Store } from "@awaken/contract/store";
import { memoryStore } from "@awaken/stores/memory";
import { describe, expect, it } from "vitest";
import * as z from "zod";
import { createRuntime } from "../create-runtime.ts";
import type { Clock } from "../stream/clock.ts";
import { fakeClock } from "../testing/fake-clock.ts";
import { text, toolCall } from "../testing/script.ts";
import { scripted } from "../testing/scripted.ts";
import { ticketsOf } from "../testing/tickets-of.ts";
import { defineTool } from "../tool/define-tool.ts";
import { ask } from "../tool/verdict.ts";

const HOUR = 3_600_000;
const T = threadId("t");

const look = defineTool({ id: "look", description: "", input: z.object({}), execute: () => "seen" });
const pay = defineTool({ id: "pay", description: "", input: z.object({}), approve: () => ask("Pay?"), execute: () => "paid" });

const open = (store: Store, clock: Clock, turns: Parameters<typeof scripted>[0]) =>
  createRuntime({
    providers: { scripted: scripted(turns) },
    models: { fast: { provider: "scripted", model: "m" } },
    agents: { default: { model: "fast" } },
    tools: [look, pay],
    store,
    clock,
  });

const openRunOf = async (store: Store) => (await store.threads.loadHead(T))?.openRun;

describe("clocks that cannot be trusted", () => {
  it("a run that begins while the clock stands still is the latest of its thread, and can be cancelled by it", async () => {
    const store = memoryStore();
    const runtime = open(store, fakeClock(1_000), [toolCall("look", {}), toolCall("look", {}), text("done"), toolCall("pay", {})]);
    await runtime.run({ thread: "t", input: "look twice" });
    const { runId } = await runtime.run({ thread: "t", input: "pay" });
    expect(await openRunOf(store)).toMatchObject({ runId, status: "waiting" });
    expect(await runtime.cancelAndWait("t")).toBe(true);
    expect(await store.runs.load(runId)).toMatchObject({ status: "done", outcome: { termination: { type: "cancelled" } } });
  });

  it("a run on a node whose clock is behind is the latest of its thread, and its ticket is found through it", async () => {
    const store = memoryStore();
    await open(store, fakeClock(2 * HOUR), [text("hello")]).run({ thread: "t", input: "hi" });
    const behind = open(store, fakeClock(HOUR), [toolCall("pay", {}), text("Paid.")]);
    const asked = await behind.run({ thread: "t", input: "pay" });
    const { runId } = asked;
    expect(await openRunOf(store)).toMatchObject({ runId, status: "waiting" });
    await behind.decide(ticketsOf(asked)[0]?.id ?? "", { action: "approve", run: "t" });
    expect(await behind.wait(runId)).toMatchObject({ status: "done", text: "Paid." });
  });

  it("a new message abandons a run that waits, whose node had a clock that is ahead", async () => {
    const store = memoryStore();
    const { runId } = await open(store, fakeClock(2 * HOUR), [toolCall("pay", {})]).run({ thread: "t", runId: "first", input: "pay" });
    const behind = open(store, fakeClock(HOUR), [toolCall("pay", {})]);
    const next = await behind.run({ thread: "t", runId: "second", input: "something else" });
    expect(await store.runs.load(runId)).toMatchObject({ status: "done", outcome: { termination: { type: "cancelled" } } });
    expect(await openRunOf(store)).toMatchObject({ runId: next.runId, status: "waiting" });
  });
});
