import { type InferenceRequest, messageText, type Provider, runId, threadId } from "@awaken/contract";
import type { Store } from "@awaken/contract/store";
import { memoryStore } from "@awaken/stores/memory";
import { describe, expect, it } from "vitest";
import * as z from "zod";
import { createRuntime, type RuntimeInit } from "../create-runtime.ts";
import { command } from "../phase/command.ts";
import { definePlugin } from "../plugin/define-plugin.ts";
import { activeAgent } from "../state/active-agent.ts";
import { countedSignal } from "../stream/counted-signal.test-support.ts";
import { crashPoints } from "../testing/crash-points.ts";
import { fakeClock } from "../testing/fake-clock.ts";
import { parts, stall, text, toolCall, toolCalls } from "../testing/script.ts";
import { scripted } from "../testing/scripted.ts";
import { ticketsOf } from "../testing/tickets-of.ts";
import { defineTool } from "../tool/define-tool.ts";
import { reply } from "../tool/reply.ts";
import { ask } from "../tool/verdict.ts";

const SILENT = { warn() {}, error() {} };

const pay = (paid: number[] = []) =>
  defineTool({
    id: "pay",
    description: "",
    input: z.object({ amount: z.number() }),
    approve: () => ask("Pay?"),
    execute: ({ amount }) => {
      paid.push(amount);
      return { paid: amount };
    },
  });

function open(provider: Provider, init: Partial<RuntimeInit> = {}) {
  return createRuntime({
    providers: { scripted: provider },
    models: { fast: { provider: "scripted", model: "scripted-1" } },
    agents: { default: { model: "fast" }, assistant: { model: "fast" }, other: { model: "fast", instructions: "other" } },
    tools: [pay()],
    log: SILENT,
    ...init,
  });
}

/** A turn that starts to answer when it is told to. */
function held(answer: string) {
  const { promise, resolve } = Promise.withResolvers<void>();
  const { promise: isAsked, resolve: onAsked } = Promise.withResolvers<void>();
  const turn = () => {
    onAsked();
    return parts({ type: "until", promise }, { type: "text-delta", delta: answer }, { type: "stop", reason: "end-turn" });
  };
  return { turn, release: resolve, isAsked };
}

const texts = (request: InferenceRequest | undefined) => request?.messages.map((message) => `${message.role}: ${messageText(message)}`);

const STORES: readonly (readonly [string, () => { store?: Store }])[] = [
  ["a memory store", () => ({ store: memoryStore() })],
  ["no store", () => ({})],
];

const twoPayments = toolCalls([
  { name: "pay", input: { amount: 1 }, id: "c1" },
  { name: "pay", input: { amount: 2 }, id: "c2" },
]);

it("registry-and-runtime 42: two decisions are in one commit: wherever the process dies, both are on record or neither", async () => {
  const found: string[] = [];
  for (const at of ["commit-start", "commit-end"] as const) {
    for (let nth = 1, hasCrashed = true; hasCrashed; nth++) {
      const store = memoryStore();
      const first = await open(scripted([twoPayments]), { store }).run({ thread: "t", input: "pay" });
      const points = crashPoints({ at, nth, mode: "throw" });
      const dying = open(scripted([text("both")]), { store: points.commits(store, "commit", "transaction") });
      const decisions = ticketsOf(first).map(({ id }) => ({ ticket: id, decision: { action: "approve" } as const }));
      const run = await dying.decideAll(decisions).catch(() => undefined);
      await run?.result.catch(() => {});
      const record = await store.runs.load(runId(first.runId));
      found.push(`${record?.decided.length} decided`);
      hasCrashed = points.hasCrashed;
    }
  }
  expect(new Set(found)).toEqual(new Set(["0 decided", "2 decided"]));
});

describe.each(STORES)("run control with %s", (_, storage) => {
  it("registry-and-runtime 38: a run in progress hands over inside the snapshot that it started with, a new run uses the new one", async () => {
    const edited = Promise.withResolvers<void>();
    const reached = Promise.withResolvers<void>();
    const move = defineTool({
      id: "move",
      description: "",
      input: z.object({}),
      execute: async () => {
        reached.resolve();
        await edited.promise;
        return reply("moved", { command: command().update(activeAgent, "other") });
      },
    });
    const model = scripted([toolCall("move", {}), text("old other"), text("new other")]);
    const runtime = open(model, { ...storage(), tools: [move] });
    const run = runtime.run({ agent: "assistant", thread: "t", input: "move" });
    await reached.promise;
    runtime.registry.update((draft) => {
      draft.agents["other"] = { model: "fast", instructions: "other, edited" };
    });
    edited.resolve();
    expect(await run).toMatchObject({ text: "old other", status: "done" });
    await runtime.run({ agent: "other", thread: "t2", input: "hi" });
    expect(model.requests.map((request) => request.system)).toEqual(["", "other", "other, edited"]);
  });

  it("registry-and-runtime 39: a second run on the thread is refused, the first goes on, and after it there is room again", async () => {
    const first = held("one");
    const runtime = open(scripted([first.turn, text("two")]), storage());
    const running = runtime.run({ thread: "t", input: "a" });
    await expect(runtime.run({ thread: "t", input: "b" })).rejects.toMatchObject({
      code: "thread_already_running",
      message: "thread already has an active run: t",
    });
    first.release();
    expect(await running).toMatchObject({ text: "one" });
    expect(await runtime.run({ thread: "t", input: "c" })).toMatchObject({ text: "two" });
  });

  it("registry-and-runtime 39: of many runs that are started in one tick exactly one gets the thread", async () => {
    const runtime = open(scripted([text("one")]), storage());
    const results = await Promise.allSettled(Array.from({ length: 20 }, () => runtime.run({ thread: "t", input: "a" })));
    expect(results.filter((result) => result.status === "fulfilled")).toHaveLength(1);
  });

  it("registry-and-runtime 40: an active run id is refused on another thread, which stays free", async () => {
    const first = held("one");
    const runtime = open(scripted([first.turn, text("two")]), storage());
    const running = runtime.run({ thread: "t1", runId: "r", input: "a" });
    await first.isAsked;
    await expect(runtime.run({ thread: "t2", runId: "r", input: "b" })).rejects.toMatchObject({ code: "thread_already_running" });
    expect(await runtime.run({ thread: "t2", input: "c" })).toMatchObject({ status: "done" });
    first.release();
    await running;
  });

  it("registry-and-runtime 41: an id that is one run's thread and another one's id cancels and decides nothing", async () => {
    const [one, two] = [held("one"), held("two")];
    const warnings: string[] = [];
    const log = { warn: (message: string) => warnings.push(message), error() {} };
    const runtime = open(scripted([one.turn, two.turn]), { ...storage(), log });
    const first = runtime.run({ thread: "x", input: "a" });
    const second = runtime.run({ thread: "y", runId: "x", input: "b" });
    await Promise.all([one.isAsked, two.isAsked]);
    expect(await runtime.cancel("x")).toBe(false);
    expect(await runtime.cancelAndWait("x")).toBe(false);
    expect(await runtime.send("x", "hi")).toMatchObject({ status: "refused" });
    await expect(runtime.decide("c", { action: "approve", run: "x" })).rejects.toMatchObject({ code: "ambiguous_id" });
    expect(warnings.length).toBeGreaterThan(0);
    one.release();
    two.release();
    expect([(await first).termination, (await second).termination]).toEqual([{ type: "natural-end" }, { type: "natural-end" }]);
  });

  // seed 002: run_handle_send_decisions, run_handle_send_decision_single
  it("registry-and-runtime 42: of a batch of two decisions both take effect or neither, and a single one is a batch of one", async () => {
    const paid: number[] = [];
    const runtime = open(scripted([twoPayments, text("both"), toolCall("pay", { amount: 3 }, { id: "c3" }), text("one")]), {
      ...storage(),
      tools: [pay(paid)],
    });
    const first = await runtime.run({ thread: "t", input: "pay" });
    const [one, two] = ticketsOf(first).map(({ id }) => id);
    expect(ticketsOf(first).map((ticket) => ticket.toolCallId)).toEqual(["c1", "c2"]);
    const approved = { ticket: one ?? "", decision: { action: "approve" } } as const;
    const refused = [
      { ticket: "nope", decision: { action: "approve" } },
      { ticket: two ?? "", decision: { action: "approve", input: { amount: "lots" } } },
      approved,
    ] as const;
    for (const other of refused) {
      for (const batch of [
        [approved, other],
        [other, approved],
      ]) {
        await expect(runtime.decideAll(batch)).rejects.toThrow(expect.objectContaining({ code: expect.any(String) }));
        expect(paid).toEqual([]);
        expect(ticketsOf(await runtime.wait(first.runId)).map(({ id }) => id)).toEqual([one, two]);
      }
    }
    await runtime.decideAll([approved, { ticket: two ?? "", decision: { action: "approve", input: { amount: 20 } } }]);
    expect(await runtime.wait(first.runId)).toMatchObject({ text: "both", status: "done" });
    const second = await runtime.run({ thread: "t", input: "again" });
    await runtime.decide("c3", { action: "approve", run: second.runId });
    expect(await runtime.wait(second.runId)).toMatchObject({ text: "one" });
    expect(paid).toEqual([1, 20, 3]);
  });

  // seed 002: run_handle_send_decisions_closed_channel
  it("registry-and-runtime 43: a run that ended takes no decision, and says so", async () => {
    const runtime = open(scripted([toolCall("pay", { amount: 1 }, { id: "c1" }), text("ok")]), storage());
    const first = await runtime.run({ thread: "t", input: "pay" });
    await runtime.decide("c1", { action: "approve", id: "d1", run: first.runId });
    await runtime.wait(first.runId);
    await expect(runtime.decide(ticketsOf(first)[0]?.id ?? "", { action: "approve", id: "d2" })).rejects.toMatchObject({
      code: "ticket_not_open",
    });
    await expect(runtime.decide("c1", { action: "deny", run: first.runId })).rejects.toMatchObject({ code: "ticket_not_open" });
    await expect(runtime.decide("c9", { action: "approve", run: "t" })).rejects.toMatchObject({ code: "ticket_not_found" });
    await expect(runtime.decide("c1", { action: "approve", id: "d1", run: first.runId })).resolves.toMatchObject({ id: first.runId });
  });

  it("registry-and-runtime 44: decisions that came before the call waited are taken at once", async () => {
    const paid: number[] = [];
    const gate = Promise.withResolvers<void>();
    const slowAsk = defineTool({
      id: "slow",
      description: "",
      input: z.object({ amount: z.number() }),
      approve: async () => {
        await gate.promise;
        return ask("Slow?");
      },
      execute: ({ amount }) => {
        paid.push(amount);
        return "done";
      },
    });
    const runtime = open(scripted([toolCall("slow", { amount: 7 }, { id: "c1" }), text("ok")]), { ...storage(), tools: [slowAsk] });
    const run = runtime.stream({ thread: "t", input: "go" });
    const types: string[] = [];
    for await (const event of run) {
      types.push(event.type);
      if (event.type !== "tool-call-ready") continue;
      await runtime.decide("c1", { action: "approve", run: run.id });
      gate.resolve();
    }
    expect(await run.result).toMatchObject({ status: "done", text: "ok" });
    expect(paid).toEqual([7]);
    expect(types.filter((type) => type === "run-end")).toHaveLength(1);
    expect(types).toContain("tool-call-resumed");
  });

  it("registry-and-runtime 45: cancelAndWait gives up after 5 s on a run that does not stop; its signal is aborted", async () => {
    const clock = fakeClock();
    const reached = Promise.withResolvers<AbortSignal>();
    const never = defineTool({
      id: "never",
      description: "",
      input: z.object({}),
      execute: (_input, { signal }) => {
        reached.resolve(signal);
        return new Promise<string>(() => {});
      },
    });
    const runtime = open(scripted([toolCall("never", {})], { clock }), { ...storage(), clock, tools: [never] });
    const run = runtime.run({ thread: "t", input: "go" });
    const signal = await reached.promise;
    const cancelled = runtime.cancelAndWait("t");
    await clock.advance(4_999);
    let isKnown = false;
    void cancelled.then(() => {
      isKnown = true;
    });
    await Promise.resolve();
    expect([isKnown, signal.aborted]).toEqual([false, true]);
    await clock.advance(1);
    expect(await cancelled).toBe(false);
    await clock.advance(30_000);
    expect(await run).toMatchObject({ termination: { type: "cancelled" } });
    expect(clock.pendingTimers).toBe(0);
  });

  it("registry-and-runtime 45: cancelAndWait on a run that stops is true and the thread is free", async () => {
    const clock = fakeClock();
    const runtime = open(scripted([stall(text("ne", "ver"), 1), text("next")], { clock }), { ...storage(), clock });
    const run = runtime.stream({ thread: "t", input: "go" });
    for await (const event of run) if (event.type === "text-delta") break;
    const cancelled = runtime.cancelAndWait(run.id);
    await clock.advance(0);
    expect(await cancelled).toBe(true);
    expect(clock.pendingTimers).toBe(0);
    expect(await run.result).toMatchObject({ termination: { type: "cancelled" }, status: "cancelled" });
    expect(await runtime.run({ thread: "t", input: "again" })).toMatchObject({ text: "next" });
    expect(await runtime.cancelAndWait("t")).toBe(false);
  });

  it("registry-and-runtime 46: without an agent the thread's active one runs, else the last run's, else `default`", async () => {
    const model = scripted([text("a"), text("b"), toolCall("move", {}), text("c"), text("d")]);
    const move = defineTool({
      id: "move",
      description: "",
      input: z.object({}),
      execute: () => reply("moved", { command: command().update(activeAgent, "third") }),
    });
    const runtime = open(model, {
      ...storage(),
      tools: [move],
      agents: {
        default: { model: "fast", instructions: "default" },
        second: { model: "fast", instructions: "second" },
        third: { model: "fast", instructions: "third" },
      },
    });
    await runtime.run({ thread: "new", input: "x" });
    await runtime.run({ thread: "t", agent: "second", input: "x" });
    await runtime.run({ thread: "t", input: "x" });
    await runtime.run({ thread: "t", input: "x" });
    expect(model.requests.map((request) => request.system)).toEqual(["default", "second", "second", "third", "third"]);
  });

  it("registry-and-runtime 47: resuming a run of another thread is an invalid resume that names both", async () => {
    const runtime = open(scripted([toolCall("pay", { amount: 1 }, { id: "c1" }), text("ok")]), storage());
    const first = await runtime.run({ thread: "mine", input: "pay" });
    await expect(runtime.run({ thread: "yours", resume: first.runId })).rejects.toMatchObject({
      code: "invalid_resume",
      message: expect.stringMatching(/'mine'.*'yours'/),
    });
    await expect(runtime.run({ thread: "yours", resume: "nobody" })).rejects.toMatchObject({ code: "invalid_resume" });
    const decisions = [{ ticket: "c1", decision: { action: "approve" as const } }];
    expect(await runtime.run({ thread: "mine", resume: first.runId, decisions })).toMatchObject({ text: "ok", runId: first.runId });
  });

  it("core-execution 66: a suspended run is not resumed by its id from another thread, and stays as it was", async () => {
    const runtime = open(scripted([toolCall("pay", { amount: 1 }, { id: "c1" }), text("ok")]), storage());
    const first = await runtime.run({ thread: "mine", input: "pay" });
    const decisions = [{ ticket: "c1", decision: { action: "approve" as const } }];
    await expect(runtime.run({ thread: "yours", resume: first.runId, decisions })).rejects.toMatchObject({ code: "invalid_resume" });
    expect(await runtime.wait(first.runId)).toMatchObject({ status: "waiting", tickets: [{ toolCallId: "c1" }] });
    await runtime.decide("c1", { action: "approve", run: first.runId });
    expect(await runtime.wait(first.runId)).toMatchObject({ text: "ok" });
  });

  it("registry-and-runtime 48: a thread that waits goes on with the same run; the hint of an existing run is refused", async () => {
    const runtime = open(scripted([toolCall("pay", { amount: 1 }, { id: "c1" }), text("never mind"), text("next")]), storage());
    const first = await runtime.run({ thread: "t", input: "pay" });
    await expect(runtime.run({ thread: "t", runId: first.runId, input: "x" })).rejects.toMatchObject({
      code: "invalid_resume",
      message: `invalid resume: run_id_hint '${first.runId}' already exists as a run`,
    });
    const stream = runtime.stream({ thread: "t", input: "forget it" });
    const second = await stream.result;
    expect(second).toMatchObject({ runId: first.runId, text: "never mind", status: "done", steps: 2 });
    expect(stream.id).toBe(first.runId);
    expect((await runtime.run({ thread: "t", input: "more" })).runId).not.toBe(first.runId);
  });

  it("registry-and-runtime 49: a new user message retracts the call that waits, and nothing dangles", async () => {
    const { store } = storage();
    const model = scripted([
      toolCalls([
        { name: "pay", input: { amount: 1 }, id: "c1" },
        { name: "free", input: {}, id: "c2" },
      ]),
      text("fine"),
    ]);
    const free = defineTool({ id: "free", description: "", input: z.object({}), execute: () => "free" });
    const runtime = open(model, { ...(store === undefined ? {} : { store }), tools: [pay(), free] });
    const first = await runtime.run({ thread: "t", input: "pay" });
    await runtime.run({ thread: "t", input: "no, stop" });
    expect(texts(model.requests[1])).toEqual(["user: pay", "assistant: ", "tool: free", "user: no, stop"]);
    await expect(runtime.decide(ticketsOf(first)[0]?.id ?? "", { action: "approve" })).rejects.toMatchObject({ code: "ticket_not_open" });
    if (store === undefined) return;
    const { items } = await store.messages.list(threadId("t"), { visibility: "internal" });
    expect(items.map(({ message }) => messageText(message))).toEqual(["[tool call superseded]"]);
  });

  it("registry-and-runtime 50: a run that throws while it is prepared leaves its slot free", async () => {
    const runtime = open(scripted([text("ok")]), storage());
    await expect(runtime.run({ agent: "nobody", thread: "t", input: "x" })).rejects.toMatchObject({
      code: "agent_not_found",
      message: "agent not found: nobody",
    });
    await expect(runtime.run({ agent: "assistant", thread: "t", resume: "r" })).rejects.toMatchObject({ code: "invalid_resume" });
    expect(await runtime.run({ thread: "t", input: "x" })).toMatchObject({ text: "ok" });
  });

  it("registry-and-runtime 50: a live batch with an unknown call changes nothing, and the run waits", async () => {
    const paid: number[] = [];
    const warnings: string[] = [];
    const log = { warn: (message: string) => warnings.push(message), error() {} };
    const runtime = open(scripted([toolCall("pay", { amount: 1 }, { id: "c1" }), text("ok")]), { ...storage(), log, tools: [pay(paid)] });
    const run = runtime.stream({ thread: "t", input: "pay" });
    for await (const event of run) {
      if (event.type !== "run-start") continue;
      await runtime.decideAll([
        { ticket: "c1", decision: { action: "approve", run: run.id } },
        { ticket: "unknown", decision: { action: "approve", run: run.id } },
      ]);
    }
    expect(await run.result).toMatchObject({ status: "waiting", tickets: [{ toolCallId: "c1" }] });
    expect(paid).toEqual([]);
    expect(warnings).toEqual([expect.stringContaining("unknown")]);
    await runtime.decide("c1", { action: "approve", run: run.id });
    expect(await runtime.wait(run.id)).toMatchObject({ text: "ok" });
  });

  it("the caller's signal cancels, keeps its reason and is let go of afterwards", async () => {
    const { controller, counts } = countedSignal();
    const reasons: unknown[] = [];
    const watch = definePlugin({
      id: "watch",
      register: (r) => r.hook("runEnd", ({ signal }) => void reasons.push(signal.reason)),
    });
    const runtime = open(scripted([stall(text("ne", "ver"), 1), text("ok")]), {
      ...storage(),
      plugins: [watch],
      agents: { default: { model: "fast", plugins: ["watch"] } },
    });
    const run = runtime.stream({ thread: "t", input: "x", signal: controller.signal });
    for await (const event of run) if (event.type === "text-delta") controller.abort("enough");
    expect(await run.result).toMatchObject({ termination: { type: "cancelled" } });
    expect([counts.open, reasons]).toEqual([0, ["enough"]]);

    const unused = countedSignal();
    await runtime.run({ thread: "t", input: "y", signal: unused.controller.signal });
    expect([unused.counts.added, unused.counts.open]).toEqual([1, 0]);
    const refused = countedSignal();
    await expect(runtime.run({ agent: "nobody", input: "y", signal: refused.controller.signal })).rejects.toThrow();
    expect(refused.counts.open).toBe(0);
    expect(await runtime.run({ thread: "t", input: "z", signal: AbortSignal.abort() })).toMatchObject({
      termination: { type: "cancelled" },
      steps: 0,
    });
  });

  it("a message that is sent while the run works is read after the step; one that comes too late is not taken", async () => {
    const { store } = storage();
    const first = held("one");
    const ending = Promise.withResolvers<void>();
    const reached = Promise.withResolvers<void>();
    const late = definePlugin({
      id: "late",
      register: (r) =>
        r.hook("runEnd", async () => {
          reached.resolve();
          await ending.promise;
        }),
    });
    const model = scripted([first.turn, text("two"), text("three")]);
    const runtime = open(model, {
      ...(store === undefined ? {} : { store }),
      plugins: [late],
      agents: { default: { model: "fast", plugins: ["late"] } },
    });
    const run = runtime.run({ thread: "t", input: "a" });
    await first.isAsked;
    expect(await runtime.send("t", "b")).toMatchObject({ status: "steered" });
    first.release();
    await reached.promise;
    expect(await runtime.send("t", "c")).toMatchObject({ status: "refused" });
    ending.resolve();
    expect(await run).toMatchObject({ text: "two", steps: 2 });
    expect(await runtime.send("t", "d")).toMatchObject({ status: "refused" });
    await runtime.run({ thread: "t", input: "e" });
    expect(texts(model.requests[2])).toEqual(["user: a", "assistant: one", "user: b", "assistant: two", "user: e"]);
  });

  it("a closed runtime has cancelled its runs and starts no more", async () => {
    const runtime = open(scripted([stall(text("never"), 0)]), storage());
    const run = runtime.run({ thread: "t", input: "x" });
    await runtime[Symbol.asyncDispose]();
    expect(await run).toMatchObject({ termination: { type: "cancelled" } });
    await expect(runtime.run({ thread: "t", input: "x" })).rejects.toMatchObject({ code: "cancelled" });
  });
});
