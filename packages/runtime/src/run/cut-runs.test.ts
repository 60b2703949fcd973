import { AwakenError, messageText, runId, threadId } from "@awaken/contract";
import type { Store, ThreadCommit } from "@awaken/contract/store";
import { memoryStore } from "@awaken/stores/memory";
import { describe, expect, it } from "vitest";
import { command } from "../phase/command.ts";
import { definePlugin } from "../plugin/define-plugin.ts";
import { activeAgent } from "../state/active-agent.ts";
import { runLifecycle } from "../state/run-lifecycle.ts";
import { crashPoints } from "../testing/crash-points.ts";
import { fakeClock } from "../testing/fake-clock.ts";
import { text, toolCall, toolCalls } from "../testing/script.ts";
import { scripted } from "../testing/scripted.ts";
import { ticketsOf } from "../testing/tickets-of.ts";
import { defineTool } from "../tool/define-tool.ts";
import { Reply, reply, wait } from "../tool/reply.ts";
import { ask } from "../tool/verdict.ts";
import { crash, input, lastPrompt, open, openEntries, World } from "./crash.test-support.ts";

const pay = (n: number, id = "c1") => toolCall("pay", { n }, { id });
const statuses = async (store: Store, run: string) =>
  (await openEntries(store, run)).map(({ toolName, status, attempt }) => `${toolName} ${status} ${attempt}`);

/** The first commit that claims something is lost on its way, and nobody knows. */
function losingClaim(store: Store): Store {
  let isLost = false;
  const commit = async (given: ThreadCommit) => {
    if (isLost || given.ledger === undefined || given.ledger.claims.length === 0) return store.commit(given);
    isLost = true;
    throw new AwakenError("commit_unknown", "the answer was lost");
  };
  return { ...store, commit };
}

describe("a claim", () => {
  it.each(["still", "system"] as const)("whose commit was lost is written again before the tool runs, %s clock", async (kind) => {
    const [store, world] = [memoryStore(), new World()];
    const tools = [world.tool("pay", { approve: () => ask("Pay?") })];
    const clock = kind === "still" ? { clock: fakeClock() } : {};
    const { runId: run } = await open(scripted([pay(1)]), { store, tools, ...clock }).run({ thread: "t", input: "go" });
    const runtime = open(scripted([text("paid")]), { store: losingClaim(store), tools, ...clock });
    await runtime.decide("c1", { action: "approve", run });
    expect(await runtime.wait(run)).toMatchObject({ status: "done", text: "paid" });
    expect(world.done).toEqual(["pay 1"]);
    expect(await statuses(store, run)).toEqual(["pay finished 1"]);
  });

  it.each([
    ["a message that is undefined", () => reply({ ok: true }, JSON.parse("{}"))],
    ["fields that nobody knows", () => new Reply({ ...reply(1).result, ...JSON.parse('{"more":1}') }, undefined)],
    [
      "an error with data that is undefined",
      () => new Reply({ type: "error", code: "x", message: "no", ...{ data: undefined } } as never, undefined),
    ],
    [
      "a success with a message that is undefined",
      () => new Reply({ type: "success", data: 1, ...{ message: undefined } } as never, undefined),
    ],
  ])("is settled by a reply with %s", async (_, execute) => {
    const store = memoryStore();
    const tool = defineTool({ id: "pay", description: "", input, execute });
    const result = await open(scripted([pay(1), text("ok")]), { store, tools: [tool] }).run({ thread: "t", input: "go" });
    expect(result).toMatchObject({ status: "done", text: "ok" });
    expect(await statuses(store, result.runId)).toEqual(["pay finished 1"]);
  });

  it("is settled by a wait; media that cannot be stored are the tool's failure", async () => {
    const store = memoryStore();
    const tools = [
      defineTool({ id: "pay", description: "", input, execute: () => wait({ action: "confirm" }) }),
      defineTool({ id: "draw", description: "", input, execute: () => reply("done", { media: JSON.parse('[{"type":"image"}]') }) }),
    ];
    const calls = toolCalls([
      { name: "pay", input: { n: 1 }, id: "c1" },
      { name: "draw", input: { n: 1 }, id: "c2" },
    ]);
    const result = await open(scripted([calls]), { store, tools }).run({ thread: "t", input: "go" });
    expect(result).toMatchObject({ status: "waiting", tickets: [{ toolCallId: "c1", action: "confirm" }] });
    expect(await statuses(store, result.runId)).toEqual(["pay suspended 1", "draw finished 1"]);
    expect((await openEntries(store, result.runId))[1]).toMatchObject({ result: { type: "error", code: "internal" } });
  });

  it("that is taken again stays open when the run is cancelled before the tool starts", async () => {
    const [store, world] = [memoryStore(), new World()];
    const tools = [world.tool("pay", { idempotent: true })];
    const run = await crash(store, "tool-end", 1, scripted([pay(1)]), { tools });
    const commit = async (given: ThreadCommit) => {
      const landed = await store.commit(given);
      if (given.ledger !== undefined && given.ledger.claims.length > 0) await runtime.cancel(run);
      return landed;
    };
    const runtime = open(scripted([]), { store: { ...store, commit }, tools });
    expect(await runtime.resume(run)).toMatchObject({ termination: { type: "cancelled" } });
    expect(await statuses(store, run)).toEqual(["pay claimed 2"]);
  });
});

describe("a call that was decided, and whose process died", () => {
  it.each([
    ["approve", undefined, "picked blue for 1"],
    ["approve", { n: 3 }, "picked blue for 3"],
  ] as const)("goes on with that decision when a person says run it again: %s %j", async (action, edited, said) => {
    const store = memoryStore();
    let executions = 0;
    const pick = defineTool({
      id: "pay",
      description: "",
      input,
      execute: ({ n }, { resume }) => {
        if (resume === undefined) return wait({ action: "pick", resumeMode: "pass-decision-to-tool" });
        executions += 1;
        return `picked ${resume.decision.action === "answer" ? resume.decision.result : resume.decision.action} for ${n}`;
      },
    });
    const first = await open(scripted([pay(1)]), { store, tools: [pick] }).run({ thread: "t", input: "go" });
    const points = crashPoints({ at: "tool-end", nth: 1, mode: "throw" });
    const dying = open(scripted([]), { store: points.commits(store, "commit", "transaction"), tools: points.tools([pick]) });
    await dying.decide("c1", { action: "answer", result: "blue", run: first.runId });
    await dying.wait(first.runId).catch(() => {});
    const model = scripted([text("over")]);
    const runtime = open(model, { store, tools: [pick] });
    const tickets = ticketsOf(await runtime.resume(first.runId));
    expect(tickets).toMatchObject([{ toolCallId: "c1", action: "unknown-outcome", input: { n: 1 } }]);
    await runtime.decide(tickets[0]?.id ?? "", edited === undefined ? { action } : { action, input: edited });
    await runtime.wait(first.runId);
    expect(executions).toBe(2);
    expect(lastPrompt(model)).toEqual(["user: go", "assistant: ", `tool: ${said}`]);
  });
});

describe("a step that was cut off", () => {
  const both = toolCalls([
    { name: "a", input: { n: 1 }, id: "c1" },
    { name: "b", input: { n: 2 }, id: "c2" },
  ]);

  it("asks about every call that was under way, also when the agent is sequential by now", async () => {
    const [store, world] = [memoryStore(), new World()];
    const tools = [world.tool("a"), world.tool("b")];
    const run = await crash(store, "tool-end", 2, scripted([both]), { tools });
    const agents = { default: { model: "fast", toolExecution: "sequential" as const } };
    const waiting = await open(scripted([]), { store, tools, agents }).resume(run);
    expect(ticketsOf(waiting).map(({ toolCallId, action }) => `${toolCallId} ${action}`)).toEqual([
      "c1 unknown-outcome",
      "c2 unknown-outcome",
    ]);
    expect(await statuses(store, run)).toEqual(["a suspended 1", "b suspended 1"]);
  });

  it("is finished with the tools of the agent that began it", async () => {
    const [store, world] = [memoryStore(), new World()];
    const go = defineTool({
      id: "go",
      description: "",
      input,
      idempotent: true,
      execute: () => reply("gone", { command: command().update(activeAgent, "billing") }),
    });
    const agents = {
      desk: { model: "fast", toolExecution: "sequential" as const, tools: ["go", "pay"] },
      billing: { model: "fast", tools: [] },
    };
    const init = { tools: [go, world.tool("pay", { idempotent: true })], agents };
    const calls = toolCalls([
      { name: "go", input: { n: 0 }, id: "c1" },
      { name: "pay", input: { n: 5 }, id: "c2" },
    ]);
    const points = crashPoints({ at: "tool-start", nth: 2, mode: "throw" });
    const dying = open(scripted([calls]), {
      ...init,
      tools: points.tools(init.tools),
      store: points.commits(store, "commit", "transaction"),
    });
    const run = dying.stream({ agent: "desk", thread: "t", input: "go" });
    await run.result.catch(() => {});
    expect(await open(scripted([text("over")]), { ...init, store }).resume(run.id)).toMatchObject({ status: "done", text: "over" });
    expect(world.done).toEqual(["pay 5"]);
  });

  it("counts once, with its hooks, in whatever process it ends", async () => {
    const [store, world] = [memoryStore(), new World()];
    const ended: number[] = [];
    const counted: unknown[] = [];
    const watcher = definePlugin({
      id: "watcher",
      register: (r) => {
        r.hook("stepEnd", ({ step }) => {
          ended.push(step);
          return undefined;
        });
        r.hook("runEnd", ({ state }) => {
          counted.push(state.get(runLifecycle)?.stepCount);
          return undefined;
        });
      },
    });
    const init = {
      tools: [world.tool("pay", { idempotent: true })],
      plugins: [watcher],
      agents: { default: { model: "fast", plugins: ["watcher"] } },
    };
    const run = await crash(store, "tool-end", 1, scripted([pay(1)]), init);
    // What a process does that plays dead reaches nobody.
    ended.length = 0;
    const result = await open(scripted([text("over")]), { ...init, store }).resume(run);
    expect(result).toMatchObject({ steps: 2, usage: { totalTokens: 30 } });
    expect(ended).toEqual([1, 2]);
    expect(counted.at(-1)).toBe(2);
    expect(await store.runs.load(runId(run))).toMatchObject({ status: "done", steps: 2 });
  });

  it("ends the run when a gate blocks what is left of it", async () => {
    const [store, world] = [memoryStore(), new World()];
    const tools = [world.tool("a", { idempotent: true }), world.tool("b", { pure: true })];
    const run = await crash(store, "tool-end", 2, scripted([both]), { tools });
    const guard = definePlugin({
      id: "guard",
      register: (r) => r.gate(({ call }) => (call.name === "b" ? { type: "block", reason: "no" } : undefined)),
    });
    const result = await open(scripted([]), {
      store,
      tools,
      plugins: [guard],
      agents: { default: { model: "fast", plugins: ["guard"] } },
    }).resume(run);
    expect(result).toMatchObject({ status: "blocked", reason: "no", termination: { type: "blocked", reason: "no" } });
    expect(await statuses(store, run)).toEqual(["a finished 2"]);
  });
});

/** A process that had looked for runs of the thread before the one that was cut off began. */
const early = (store: Store): Store => ({
  ...store,
  threads: {
    ...store.threads,
    loadHead: async (id) => {
      const head = await store.threads.loadHead(id);
      if (head === undefined) return undefined;
      const { openRun: _open, latestRun: _latest, ...seen } = head;
      return seen;
    },
  },
});

describe("a run that was cut off, and whose thread was used since", () => {
  it("waits until the run that came later is over", async () => {
    const [store, world] = [memoryStore(), new World()];
    const tools = [world.tool("pay", { idempotent: true }), world.tool("ask", { approve: () => ask("?") })];
    const cut = await crash(store, "tool-end", 1, scripted([pay(1)]), { tools });
    const there = open(scripted([toolCall("ask", { n: 2 }, { id: "c1" })]), { store: early(store), tools });
    const later = await there.run({ thread: "t", input: "second" });
    const runtime = open(scripted([text("asked"), text("resumed")]), { store, tools });
    const refused = { code: "thread_already_running", details: { runId: later.runId } };
    await expect(runtime.resume(cut)).rejects.toMatchObject(refused);
    expect(await statuses(store, cut)).toEqual(["pay claimed 1"]);
    await runtime.decide("c1", { action: "approve", run: later.runId });
    await runtime.wait(later.runId);
    expect(await runtime.resume(cut)).toMatchObject({ status: "done", text: "resumed" });
    expect(world.done).toEqual(["pay 1", "ask 2"]);
  });

  it("has its results at its own calls, also when the vendor gave their ids again", async () => {
    const [store, world] = [memoryStore(), new World()];
    const tools = [world.tool("pay", { idempotent: true })];
    const cut = await crash(store, "tool-end", 1, scripted([pay(1)]), { tools });
    await open(scripted([pay(2), text("second")]), { store: early(store), tools }).run({ thread: "t", input: "again" });
    const model = scripted([text("over")]);
    await open(model, { store, tools }).resume(cut);
    const seen = ["user: go", "assistant: ", 'tool: {"did":1}', "user: again", "assistant: ", 'tool: {"did":2}', "assistant: second"];
    expect(lastPrompt(model)).toEqual(seen);
    const log = (await store.threads.loadHead(threadId("t")))?.messages ?? [];
    expect(log.map(({ message }) => `${message.role}: ${messageText(message)}`)).toEqual([...seen, "assistant: over"]);
  });

  it("is not overtaken by one that is only queued: calls that were never claimed run", async () => {
    const [store, world] = [memoryStore(), new World()];
    const tools = [world.tool("pay", { idempotent: true }), world.tool("look", { pure: true })];
    const calls = toolCalls([
      { name: "pay", input: { n: 1 }, id: "a" },
      { name: "look", input: { n: 2 }, id: "b" },
    ]);
    const cut = await crash(store, "tool-end", 2, scripted([calls]), { tools });
    const record = await store.runs.load(runId(cut));
    if (record?.status !== "running") throw new Error("the run should be running");
    const { ordinal: _ordinal, startedAt: _startedAt, ...body } = record;
    const queued = { ...body, runId: runId("queued"), status: "created" } as const;
    await store.commit({ threadId: threadId("t"), runId: runId("queued"), isNewRun: true, run: queued });
    const model = scripted([text("over")]);
    await open(model, { store, tools }).resume(cut);
    expect(lastPrompt(model)).toEqual(["user: go", "assistant: ", 'tool: {"did":1}', 'tool: {"did":2}']);
  });
});

describe("two processes", () => {
  it("cannot both take up one run, whenever the other one comes between two reads", async () => {
    const reads = await countReads();
    expect(reads).toBeGreaterThan(2);
    for (let nth = 1; nth <= reads; nth++) {
      const [store, world] = [memoryStore(), new World()];
      const tools = [world.tool("pay", { idempotent: true })];
      const cut = await crash(store, "tool-end", 1, scripted([pay(1)]), { tools });
      const other = open(scripted([text("from the other")]), { store, tools });
      const mine = open(scripted([text("mine")]), { store: between(store, nth, () => other.resume(cut)), tools });
      await expect(mine.resume(cut), `read ${nth}`).rejects.toMatchObject({
        code: expect.stringMatching(/thread_already_running|invalid_resume/),
      });
      expect(world.done, `read ${nth}`).toEqual(["pay 1"]);
      const head = await store.threads.loadHead(threadId("t"));
      expect(head?.messages.map(({ message }) => message.role)).toEqual(["user", "assistant", "tool", "assistant"]);
    }
  });

  /** Lets something happen before the n-th read of the records. */
  function between(store: Store, nth: number, happen: () => Promise<unknown>, onRead = () => {}): Store {
    let reads = 0;
    const before = async () => {
      onRead();
      if (++reads === nth) await happen();
    };
    return {
      ...store,
      runs: {
        ...store.runs,
        load: async (id) => {
          await before();
          return store.runs.load(id);
        },
      },
      threads: {
        ...store.threads,
        loadHead: async (id) => {
          await before();
          return store.threads.loadHead(id);
        },
      },
      ledger: {
        ...store.ledger,
        list: async (id, query) => {
          await before();
          return store.ledger.list(id, query);
        },
      },
    };
  }

  async function countReads(): Promise<number> {
    const [store, world] = [memoryStore(), new World()];
    const tools = [world.tool("pay", { idempotent: true })];
    const cut = await crash(store, "tool-end", 1, scripted([pay(1)]), { tools });
    let reads = 0;
    const counting = between(
      store,
      0,
      async () => {},
      () => {
        reads += 1;
      },
    );
    await open(scripted([text("mine")]), { store: counting, tools }).resume(cut);
    return reads;
  }
});

describe("a hook of stepEnd that ends the run", () => {
  const stopper = definePlugin({
    id: "stopper",
    register: (r) =>
      r.hook("stepEnd", () => command().update(runLifecycle, { type: "done", termination: { type: "behavior-requested" }, at: 5 })),
  });
  const agents = { default: { model: "fast", plugins: ["stopper"] } };

  it("leaves no ticket open and counts no further step", async () => {
    const [store, world] = [memoryStore(), new World()];
    for (const tool of [world.tool("pay", { approve: () => ask("Pay?") }), world.tool("pay")]) {
      const runtime = open(scripted([pay(1)]), { store, tools: [tool], plugins: [stopper], agents });
      const run = runtime.stream({ thread: tool.traits.canApprove ? "asks" : "runs", input: "go" });
      const steps: number[] = [];
      for await (const event of run) if (event.type === "step-end") steps.push(event.step);
      expect(await run.result).toMatchObject({ status: "done", termination: { type: "behavior-requested" }, steps: 1 });
      expect(steps).toEqual([1]);
    }
    const log = (await store.threads.loadHead(threadId("asks")))?.messages ?? [];
    expect(log.at(-1)?.message).toMatchObject({ role: "tool", status: "error" });
  });
});
