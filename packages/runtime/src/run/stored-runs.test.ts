import { AwakenError, type CreatedRun, messageText, NO_USAGE, type Provider, RUN_SCHEMA_VERSION, runId, threadId } from "@awaken/contract";
import type { Store } from "@awaken/contract/store";
import { memoryStore } from "@awaken/stores/memory";
import { describe, expect, it } from "vitest";
import * as z from "zod";
import { createRuntime, type RuntimeInit } from "../create-runtime.ts";
import { definePlugin } from "../plugin/define-plugin.ts";
import { fakeClock } from "../testing/fake-clock.ts";
import { parts, text, toolCall, toolCalls } from "../testing/script.ts";
import { scripted } from "../testing/scripted.ts";
import { ticketsOf } from "../testing/tickets-of.ts";
import { defineTool } from "../tool/define-tool.ts";
import { ask } from "../tool/verdict.ts";

const SILENT = { warn() {}, error() {} };

const pay = defineTool({
  id: "pay",
  description: "",
  input: z.object({ amount: z.number() }),
  approve: () => ask("Pay?"),
  execute: ({ amount }) => ({ paid: amount }),
});
const look = defineTool({ id: "look", description: "", input: z.object({}), pure: true, execute: () => "seen" });

function open(provider: Provider, init: Partial<RuntimeInit> = {}) {
  return createRuntime({
    providers: { scripted: provider },
    models: { fast: { provider: "scripted", model: "scripted-1" } },
    agents: { default: { model: "fast" }, other: { model: "fast", instructions: "other" } },
    tools: [pay, look],
    log: SILENT,
    // Nobody but the test goes on with what a dead process left.
    workers: false,
    ...init,
  });
}

function held(answer: string) {
  const { promise, resolve } = Promise.withResolvers<void>();
  const turn = parts({ type: "until", promise }, { type: "text-delta", delta: answer }, { type: "stop", reason: "end-turn" });
  return { turn, release: resolve };
}

const asksOnce = () => toolCall("pay", { amount: 1 }, { id: "c1" });

describe("wait", () => {
  it("gives what an active run comes to, a waiting one waits for, and a done one came to", async () => {
    const answer = held("hello");
    const runtime = open(scripted([answer.turn, asksOnce()]));
    const run = runtime.stream({ thread: "t", input: "a" });
    const waited = runtime.wait(run.id);
    answer.release();
    expect(await waited).toMatchObject({ text: "hello", status: "done", steps: 1 });
    expect(await runtime.wait(run.id)).toMatchObject({ text: "hello", status: "done", steps: 1, termination: { type: "natural-end" } });
    const second = await runtime.run({ thread: "t", input: "b" });
    expect(await runtime.wait(second.runId)).toMatchObject({
      status: "waiting",
      tickets: [{ toolCallId: "c1" }],
      termination: { type: "suspended" },
    });
    await expect(runtime.wait("nobody")).rejects.toMatchObject({ code: "run_not_found" });
  });

  it("asks the store again while another process executes the run, and gives up when the runtime is closed", async () => {
    const [store, clock, answer] = [memoryStore(), fakeClock(), held("hello")];
    const model = scripted([answer.turn], { clock });
    const [here, there] = [open(model, { store, clock }), open(model, { store, clock })];
    const run = here.stream({ thread: "t", input: "a" });
    await clock.advance(0);
    const [waited, given] = [there.wait(run.id), open(model, { store, clock }).wait(run.id)];
    await clock.advance(1_000);
    answer.release();
    await run.result;
    await clock.advance(250);
    expect(await waited).toMatchObject({ text: "hello", status: "done" });
    expect(await given).toMatchObject({ text: "hello" });
    expect(clock.pendingTimers).toBe(0);
  });

  it("is over with the runtime that waits", async () => {
    const [store, clock] = [memoryStore(), fakeClock()];
    const model = scripted([held("never").turn], { clock });
    const run = open(model, { store, clock }).stream({ thread: "t", input: "a" });
    await clock.advance(0);
    const timers = clock.pendingTimers;
    const there = open(model, { store, clock });
    const waited = there.wait(run.id);
    await clock.advance(0);
    expect(clock.pendingTimers).toBe(timers + 1);
    await there[Symbol.asyncDispose]();
    await expect(waited).rejects.toMatchObject({ code: "cancelled" });
    expect(clock.pendingTimers).toBe(timers);
  });
});

/** The store of a process that dies at its n-th commit: nothing of what it does from then on is written. */
function dyingStore(store: Store, lastCommit: number) {
  let commits = 0;
  const isAlive = () => {
    commits += 1;
    if (commits > lastCommit) throw new AwakenError("storage_io", "the process is dead");
  };
  const dying: Store = {
    ...store,
    commit: async (commit) => {
      isAlive();
      return store.commit(commit);
    },
    transaction: async (work) => {
      isAlive();
      return store.transaction(work);
    },
  };
  return dying;
}

describe("resume", () => {
  it("goes on with a run that died at any of its commits, and the thread reads as if nothing had been", async () => {
    for (let lastCommit = 1; lastCommit <= 3; lastCommit++) {
      const store = memoryStore();
      const turns = [toolCall("look", {}, { id: "a" }), toolCall("look", {}, { id: "b" }), text("done")];
      const dead = open(scripted(turns), { store: dyingStore(store, lastCommit) });
      const died = await dead.run({ thread: "t", input: "go" });
      expect(died.termination).toMatchObject({ type: "error" });
      const model = scripted(turns.slice(lastCommit - 1));
      const runtime = open(model, { store });
      expect(await store.runs.load(died.runId)).toMatchObject({ status: "running", steps: lastCommit - 1 });
      await expect(runtime.wait(died.runId, { timeoutMs: 0 })).rejects.toMatchObject({ code: "timeout" });
      expect(await runtime.resume(died.runId)).toMatchObject({ runId: died.runId, status: "done", text: "done", steps: 3 });
      const { items } = await store.messages.list(threadId("t"), {});
      expect(items.map(({ message }) => message.role)).toEqual(["user", "assistant", "tool", "assistant", "tool", "assistant"]);
      model.assertDone();
    }
  });

  it("follows a decision that was on record when the process died", async () => {
    const store = memoryStore();
    const { runId: id } = await open(scripted([asksOnce()]), { store }).run({ thread: "t", input: "pay" });
    const dead = open(scripted([]), { store: dyingStore(store, 1) });
    await dead.decide("c1", { action: "approve", id: "d1", run: id });
    expect(await dead.wait(id)).toMatchObject({ termination: { type: "error", code: "storage_io" } });
    const model = scripted([text("paid")]);
    const runtime = open(model, { store });
    await runtime.decide("c1", { action: "approve", id: "d1", run: id });
    expect(await runtime.resume(id)).toMatchObject({ status: "done", text: "paid" });
    expect(model.requests[0]?.messages.map((message) => messageText(message))).toEqual(["pay", "", '{"paid":1}']);
  });

  it("leaves a decided call alone when the user says something else instead", async () => {
    const store = memoryStore();
    const { runId: id } = await open(scripted([asksOnce()]), { store }).run({ thread: "t", input: "pay" });
    const dead = open(scripted([]), { store: dyingStore(store, 1) });
    await dead.decide("c1", { action: "approve", run: id });
    const model = scripted([text("stopped")]);
    const runtime = open(model, { store });
    await runtime.run({ thread: "t", input: "stop!" });
    expect(model.requests[0]?.messages.map((message) => messageText(message))).toEqual(["pay", "stop!"]);
  });

  it("refuses runs that are over, wait for a decision, are active, or do not exist", async () => {
    const answer = held("x");
    const runtime = open(scripted([text("over"), asksOnce(), answer.turn]));
    const done = await runtime.run({ thread: "t1", input: "a" });
    const waiting = await runtime.run({ thread: "t2", input: "a" });
    await expect(runtime.resume(done.runId)).rejects.toMatchObject({ code: "invalid_resume" });
    await expect(runtime.resume(waiting.runId)).rejects.toMatchObject({ code: "invalid_resume" });
    await expect(runtime.resume("nobody")).rejects.toMatchObject({ code: "run_not_found" });
    const active = runtime.stream({ thread: "t3", input: "a" });
    for await (const event of active) if (event.type === "step-start") break;
    await expect(runtime.resume(active.id)).rejects.toMatchObject({ code: "thread_already_running" });
    answer.release();
    await active.result;
  });
});

describe("cancel of a run that waits", () => {
  it.each(["run", "thread"] as const)("ends it by its %s id, and the model learns that nobody decided", async (by) => {
    const store = memoryStore();
    const model = scripted([asksOnce(), text("next")]);
    const ended: string[] = [];
    const watch = definePlugin({ id: "watch", register: (r) => r.hook("runEnd", ({ termination }) => void ended.push(termination.type)) });
    const init = { store, plugins: [watch], agents: { default: { model: "fast", plugins: ["watch"] } } };
    const first = await open(model, init).run({ thread: "t", input: "pay" });
    const runtime = open(model, init);
    expect(await runtime.cancelAndWait(by === "run" ? first.runId : "t")).toBe(true);
    expect(await store.runs.load(first.runId)).toMatchObject({ status: "done", outcome: { termination: { type: "cancelled" } } });
    expect(ended).toEqual(["suspended", "cancelled"]);
    await expect(runtime.decide(ticketsOf(first)[0]?.id ?? "", { action: "approve" })).rejects.toMatchObject({ code: "ticket_not_open" });
    expect(await runtime.cancel(first.runId)).toBe(false);
    expect(await runtime.cancel(" ")).toBe(false);
    const second = await runtime.run({ thread: "t", input: "and now?" });
    expect(second.runId).not.toBe(first.runId);
    expect(model.requests[1]?.messages.map((message) => messageText(message))).toEqual([
      "pay",
      "",
      "Cancelled: the run ended before there was a decision",
      "and now?",
    ]);
  });
});

describe("the id of a new run", () => {
  const created = (id: string, thread: string): CreatedRun => ({
    schemaVersion: RUN_SCHEMA_VERSION,
    status: "created",
    runId: runId(id),
    threadId: threadId(thread),
    agentId: "other",
    activation: {
      intent: { type: "new-intent" },
      options: { frontendTools: [] },
      trace: { origin: "mcp", runMode: "scheduled", adapter: "mcp" },
    },
    input: { triggerMessageIds: [], selectedMessageIds: [] },
    createdAt: 5,
    updatedAt: 5,
    steps: 0,
    usage: NO_USAGE,
    decided: [],
  });

  it("may be that of a run that was only created: it is used, with the agent and the trace that it has", async () => {
    const [store, clock] = [memoryStore(), fakeClock(100)];
    await store.commit({ threadId: threadId("t"), runId: runId("r"), run: created("r", "t"), isNewRun: true });
    const model = scripted([text("hi")], { clock });
    const runtime = open(model, { store, clock });
    await expect(runtime.run({ thread: "elsewhere", runId: "r", input: "x" })).rejects.toMatchObject({ code: "invalid_resume" });
    expect(await runtime.run({ thread: "t", runId: "r", input: "x" })).toMatchObject({ runId: "r", text: "hi", status: "done" });
    expect(model.requests[0]?.system).toBe("other");
    expect(await store.runs.load(runId("r"))).toMatchObject({
      createdAt: 5,
      startedAt: 100,
      ordinal: 1,
      activation: { trace: { origin: "mcp" } },
    });
    await expect(runtime.run({ thread: "t", runId: "r", input: "x" })).rejects.toMatchObject({ code: "invalid_resume" });
  });

  it("ends a run that waits on the thread, because the new message takes its calls away", async () => {
    const store = memoryStore();
    const runtime = open(scripted([asksOnce(), text("fresh")]), { store });
    const first = await runtime.run({ thread: "t", input: "pay" });
    expect(await runtime.run({ thread: "t", runId: "fresh", input: "no" })).toMatchObject({ runId: "fresh", steps: 1 });
    expect(await runtime.wait(first.runId)).toMatchObject({ status: "cancelled", termination: { type: "cancelled" } });
    await expect(runtime.decide(ticketsOf(first)[0]?.id ?? "", { action: "approve" })).rejects.toMatchObject({ code: "ticket_not_open" });
    const events = await store.events.list({ type: "run", runId: first.runId }, {});
    expect(events.items.map((event) => event.kind).at(-1)).toBe("run-cancelled");
  });

  it("may be asked for another agent, who takes over a run that waits", async () => {
    const model = scripted([asksOnce(), text("other here")]);
    const runtime = open(model);
    const first = await runtime.run({ thread: "t", input: "pay" });
    expect(await runtime.run({ agent: "other", thread: "t", input: "no" })).toMatchObject({ runId: first.runId, text: "other here" });
    expect(model.requests.map((request) => request.system)).toEqual(["", "other"]);
  });
});

describe("messages", () => {
  it("that a client sends again with their ids are not logged twice", async () => {
    const model = scripted([text("one"), text("two"), text("three")]);
    const runtime = open(model);
    await runtime.run({ thread: "t", input: [{ role: "user", content: "a", id: "m1" }] });
    const again = [{ role: "user", content: "a", id: "m1" } as const, { role: "user", content: "b", id: "m2" } as const];
    await runtime.run({ thread: "t", input: again });
    expect(model.requests[1]?.messages.map((message) => messageText(message))).toEqual(["a", "one", "b"]);
    await runtime.run({
      thread: "t",
      input: [
        { role: "user", content: "b", id: "m2" },
        { role: "user", content: "c" },
      ],
    });
    expect(model.requests[2]?.messages.map((message) => messageText(message))).toEqual(["a", "one", "b", "two", "c"]);
    const twice = [{ role: "user", content: "a", id: "m" } as const, { role: "user", content: "b", id: "m" } as const];
    await expect(runtime.run({ thread: "t", input: twice })).rejects.toMatchObject({ code: "invalid_activation" });
  });

  it("of a run are all recorded as what it answers, also those that came later", async () => {
    const store = memoryStore();
    const runtime = open(scripted([toolCalls([{ name: "pay", input: { amount: 1 }, id: "c1" }]), text("ok")]), { store });
    await runtime.run({ thread: "t", input: [{ role: "user", content: "a", id: "m1" }] });
    const { runId: id } = await runtime.run({ thread: "t", input: [{ role: "user", content: "b", id: "m2" }] });
    expect(await store.runs.load(id)).toMatchObject({ input: { triggerMessageIds: ["m1", "m2"] }, steps: 2 });
  });
});

describe("a thread that is made for a run", () => {
  it("is not looked up; when there is one of its id in spite of it, that is read and gone on with", async () => {
    const store = memoryStore();
    const asked: string[] = [];
    const loadHead: Store["threads"]["loadHead"] = (id) => {
      asked.push(id);
      return store.threads.loadHead(id);
    };
    const counted: Store = { ...store, threads: { ...store.threads, loadHead } };
    let drawn = 0;
    const ids = () => `a${drawn++}`;
    const first = await open(scripted([text("one")]), { store: counted, ids }).run({ input: "a" });
    expect(asked).toEqual([]);

    const place = Number(first.threadId.slice(1));
    let count = 0;
    const again = () => (count++ === place ? first.threadId : `b${count}`);
    const model = scripted([text("two")]);
    const second = await open(model, { store: counted, ids: again }).run({ input: "b" });
    expect(second).toMatchObject({ status: "done", text: "two", threadId: first.threadId });
    expect(asked).toEqual([first.threadId]);
    expect(model.requests.map(({ messages }) => messages.map((message) => messageText(message)))).toEqual([["a", "one", "b"]]);
  });
});
