import {
  AwakenError,
  type InferenceRequest,
  type JsonValue,
  messageText,
  messageToolCalls,
  type Provider,
  type StreamPart,
  type Ticket,
  threadId,
} from "@awaken/contract";
import { effectiveMessages, type Store } from "@awaken/contract/store";
import { memoryStore } from "@awaken/stores/memory";
import { describe, expect, it } from "vitest";
import * as z from "zod";
import type { RuntimeInit } from "../create-runtime.ts";
import { CRASH_POINTS, type CrashPoint, crashPoints } from "../testing/crash-points.ts";
import { fakeClock } from "../testing/fake-clock.ts";
import { text, toolCall, toolCalls } from "../testing/script.ts";
import { scripted } from "../testing/scripted.ts";
import { ticketsOf } from "../testing/tickets-of.ts";
import { defineTool } from "../tool/define-tool.ts";
import { wait } from "../tool/reply.ts";
import { ask } from "../tool/verdict.ts";
import { crash, input, type Kind, lastPrompt, open, openEntries, World } from "./crash.test-support.ts";
import type { TicketDecision } from "./decision-input.ts";
import type { RunRequest } from "./run-request.ts";

describe("the effect ledger", () => {
  it("has a claim before the tool starts, and the outcome in the commit of the step", async () => {
    const [store, world] = [memoryStore(), new World()];
    const seen: unknown[] = [];
    const look = defineTool({
      id: "look",
      description: "",
      input,
      execute: async (_, { identity: { runId } }) => {
        seen.push((await store.ledger.list(runId)).map(({ status, attempt, toolName, input }) => ({ status, attempt, toolName, input })));
        return "seen";
      },
    });
    const calls = toolCalls([
      { name: "look", input: { n: 1 } },
      { name: "pay", input: { n: 2 } },
    ]);
    const result = await open(scripted([calls, text("done")]), { store, tools: [look, world.tool("pay")] }).run({
      thread: "t",
      input: "go",
    });
    expect(seen).toEqual([
      [
        { status: "claimed", attempt: 1, toolName: "look", input: { n: 1 } },
        { status: "claimed", attempt: 1, toolName: "pay", input: { n: 2 } },
      ],
    ]);
    const entries = await store.ledger.list(result.runId);
    expect(entries.map(({ status, toolName }) => `${toolName} ${status}`)).toEqual(["look finished", "pay finished"]);
    expect(entries[1]).toMatchObject({ result: { type: "success", data: { did: 2 } } });
    expect(world.effects).toEqual([`pay 2 ${entries[1]?.idempotencyKey}`]);
  });

  it("costs one commit for a step without tools, two for one with tools, and one when they are all pure", async () => {
    const count = async (turns: Parameters<typeof scripted>[0], kind: Kind = {}) => {
      const [points, world] = [crashPoints(), new World()];
      const store = points.commits(memoryStore(), "commit");
      await open(scripted(turns), { store, tools: [world.tool("a", kind), world.tool("b", kind)] }).run({ thread: "t", input: "go" });
      return points.counts["commit-end"];
    };
    const both = () =>
      toolCalls([
        { name: "a", input: { n: 1 } },
        { name: "b", input: { n: 2 } },
      ]);
    // The first commit of a run comes before its first step.
    expect(await count([text("hi")])).toBe(1 + 1);
    expect(await count([both(), text("hi")])).toBe(1 + 2 + 1);
    expect(await count([both(), both(), text("hi")])).toBe(1 + 2 + 2 + 1);
    expect(await count([both(), text("hi")], { pure: true })).toBe(1 + 1 + 1);
  });

  it("lets nothing run whose claim cannot be written", async () => {
    const world = new World();
    const store = memoryStore();
    const failing: Store = {
      ...store,
      commit: async (commit) => {
        if (commit.ledger !== undefined && commit.ledger.claims.length > 0) throw new AwakenError("storage_io", "the disk is full");
        return store.commit(commit);
      },
    };
    const runtime = open(scripted([toolCall("pay", { n: 1 })]), { store: failing, tools: [world.tool("pay")] });
    const result = await runtime.run({ thread: "t", input: "go" });
    expect(result.termination).toMatchObject({ type: "error", code: "storage_io" });
    expect(world.effects).toEqual([]);
    expect(await store.ledger.list(result.runId)).toEqual([]);
  });

  it("claims calls of a sequential agent one by one", async () => {
    const [store, world] = [memoryStore(), new World()];
    const tools = [world.tool("first"), world.tool("second")];
    const calls = toolCalls([
      { name: "first", input: { n: 1 } },
      { name: "second", input: { n: 2 } },
    ]);
    const agents = { default: { model: "fast", toolExecution: "sequential" as const } };
    const run = await crash(store, "tool-end", 1, scripted([calls]), { tools, agents });
    expect((await openEntries(store, run)).map(({ toolName, status }) => `${toolName} ${status}`)).toEqual(["first claimed"]);
  });
});

describe("a run whose process died while a tool ran", () => {
  const cut = async (kind: Kind, at: "tool-start" | "tool-end", make = (world: World) => [world.tool("pay", kind)]) => {
    const [store, world] = [memoryStore(), new World()];
    const tools = make(world);
    const run = await crash(store, at, 1, scripted([toolCall("pay", { n: 7 }, { id: "c1" })]), { tools });
    return { store, world, run, tools };
  };
  it("asks the tool's reconcile: what happened is not done again", async () => {
    const world = new World();
    const tools = [world.tool("pay", { reconcile: world.reconcile })];
    const store = memoryStore();
    const run = await crash(store, "tool-end", 1, scripted([toolCall("pay", { n: 7 })]), { tools });
    expect(world.done).toEqual(["pay 7"]);
    const model = scripted([text("paid")]);
    const result = await open(model, { store, tools }).resume(run);
    expect(result).toMatchObject({ status: "done", text: "paid", steps: 2 });
    expect(world.done).toEqual(["pay 7"]);
    expect(lastPrompt(model)).toEqual(["user: go", "assistant: ", 'tool: {"did":7}']);
    expect(await openEntries(store, run)).toMatchObject([{ status: "finished", attempt: 1, result: { data: { did: 7 } } }]);
  });

  it("core-execution 93: what reconcile gives that is no JSON is left out and told; what happened is not done again", async () => {
    const [store, world, warnings] = [memoryStore(), new World(), [] as string[]];
    // As code without types may say it.
    const data: object = { did: new Map() };
    const tools = [world.tool("pay", { reconcile: () => ({ type: "done", data: data as JsonValue }) })];
    const run = await crash(store, "tool-end", 1, scripted([toolCall("pay", { n: 7 })]), { tools });
    const model = scripted([text("paid")]);
    const log = { error() {}, warn: (line: string) => void warnings.push(line) };
    expect(await open(model, { store, tools, log }).resume(run)).toMatchObject({ status: "done", text: "paid" });
    expect(world.done).toEqual(["pay 7"]);
    expect(lastPrompt(model)).toEqual(["user: go", "assistant: ", "tool: null"]);
    expect(warnings).toEqual(["reconcile of 'pay' failed: Execution failed: tool 'pay' returned what is no JSON: a Map at 'did'"]);
  });

  it("and runs it when the tool says that nothing happened", async () => {
    const world = new World();
    const tools = [world.tool("pay", { reconcile: world.reconcile })];
    const store = memoryStore();
    const run = await crash(store, "tool-start", 1, scripted([toolCall("pay", { n: 7 })]), { tools });
    expect(world.done).toEqual([]);
    expect(await open(scripted([text("paid")]), { store, tools }).resume(run)).toMatchObject({ status: "done", text: "paid" });
    expect(world.done).toEqual(["pay 7"]);
    expect(await openEntries(store, run)).toMatchObject([{ status: "finished", attempt: 2 }]);
  });

  it("runs an idempotent tool again with the same key", async () => {
    const { store, world, run, tools } = await cut({ idempotent: true }, "tool-end");
    const [before] = await openEntries(store, run);
    await open(scripted([text("paid")]), { store, tools }).resume(run);
    expect(world.effects).toEqual([`pay 7 ${before?.idempotencyKey}`]);
    expect(await openEntries(store, run)).toMatchObject([{ status: "finished", attempt: 2 }]);
  });

  it("runs a pure tool again, which nobody claimed", async () => {
    const [store, world] = [memoryStore(), new World()];
    const tools = [world.tool("pay", { pure: true })];
    const turn = () => toolCall("pay", { n: 7 });
    const run = await crash(store, "tool-end", 1, scripted([turn()]), { tools });
    expect(await openEntries(store, run)).toEqual([]);
    expect(world.done).toEqual(["pay 7"]);
    expect(await open(scripted([turn(), text("ok")]), { store, tools }).resume(run)).toMatchObject({ text: "ok", steps: 2 });
    expect(world.done).toEqual(["pay 7", "pay 7"]);
  });

  it("asks a person about any other tool, with what is known", async () => {
    const { store, run, tools } = await cut({}, "tool-end");
    const waiting = await open(scripted([]), { store, tools }).resume(run);
    expect(waiting).toMatchObject({ status: "waiting", termination: { type: "suspended" } });
    expect(ticketsOf(waiting)).toMatchObject([
      { toolCallId: "c1", action: "unknown-outcome", toolName: "pay", input: { n: 7 }, parameters: { attempt: 1, input: { n: 7 } } },
    ]);
    expect(ticketsOf(waiting)[0]?.message).toContain("outcome was lost");
    expect(await openEntries(store, run)).toMatchObject([{ status: "suspended", attempt: 1 }]);
  });

  it.each([
    ["approve runs it again", { action: "approve" }, ["pay 7", "pay 7"], '{"did":7}'],
    ["an answer is its result", { action: "answer", result: { did: 7, by: "ana" } }, ["pay 7"], '{"did":7,"by":"ana"}'],
    ["deny gives it up", { action: "deny", reason: "it is paid" }, ["pay 7"], "Denied: it is paid"],
  ] as const)("whose decision counts: %s", async (_, decision, done, answer) => {
    const { store, world, run, tools } = await cut({}, "tool-end");
    const model = scripted([text("over")]);
    const runtime = open(model, { store, tools });
    await runtime.resume(run);
    await runtime.decide("c1", { ...decision, run });
    expect(await runtime.wait(run)).toMatchObject({ status: "done", text: "over" });
    expect(world.done).toEqual(done);
    expect(lastPrompt(model)?.at(-1)).toBe(`tool: ${answer}`);
    expect(await openEntries(store, run)).toMatchObject([{ status: "finished" }]);
  });

  it("asks a person when reconcile fails, does not know, or never ends and the tool has a limit", async () => {
    const clock = fakeClock();
    const never = () => new Promise<never>(() => {});
    for (const reconcile of [() => Promise.reject(new Error("no")), () => ({ type: "unknown" }) as const, never]) {
      let executions = 0;
      const { store, run } = await cut({}, "tool-end");
      const execute = () => {
        executions += 1;
        return "again";
      };
      const tool = defineTool({ id: "pay", description: "", input, reconcile, timeoutMs: 1_000, execute });
      const resumed = open(scripted([]), { store, tools: [tool], clock }).resume(run);
      await clock.advance(1_000);
      expect(ticketsOf(await resumed)).toMatchObject([{ action: "unknown-outcome" }]);
      expect(executions).toBe(0);
    }
  });

  it("asks a person when the tool is gone or takes another input now", async () => {
    const other = defineTool({ id: "pay", description: "", input: z.object({ cents: z.number() }), idempotent: true, execute: () => "" });
    for (const tools of [[], [other]]) {
      const { store, run } = await cut({ idempotent: true }, "tool-end");
      expect(ticketsOf(await open(scripted([]), { store, tools }).resume(run))).toMatchObject([{ action: "unknown-outcome" }]);
    }
  });

  it("does not ask gates about a call that may have happened", async () => {
    const { store, world, run } = await cut({ idempotent: true }, "tool-end");
    const tools = [world.tool("pay", { idempotent: true, approve: () => ask("sure?") })];
    expect(await open(scripted([text("ok")]), { store, tools }).resume(run)).toMatchObject({ status: "done" });
  });

  it("leaves the claim as it is when the run is cancelled before anybody knows", async () => {
    const { store, run } = await cut({}, "tool-end");
    const tool = defineTool({
      id: "pay",
      description: "",
      input,
      execute: () => "",
      reconcile: async () => {
        await runtime.cancel(run);
        return { type: "unknown" };
      },
    });
    const runtime = open(scripted([]), { store, tools: [tool] });
    expect(await runtime.resume(run)).toMatchObject({ termination: { type: "cancelled" } });
    expect(await openEntries(store, run)).toMatchObject([{ status: "claimed", attempt: 1 }]);
  });

  it("keeps an edited input through an unknown outcome", async () => {
    const [store, world] = [memoryStore(), new World()];
    const tools = [world.tool("pay", { approve: ({ n }) => ask(`Pay ${n}?`) })];
    const first = await open(scripted([toolCall("pay", { n: 7 }, { id: "c1" })]), { store, tools }).run({ thread: "t", input: "go" });
    const points = crashPoints({ at: "tool-start", nth: 1, mode: "throw" });
    const dying = open(scripted([]), { store: points.commits(store, "commit", "transaction"), tools: points.tools(tools) });
    await dying.decide("c1", { action: "approve", input: { n: 5 }, run: first.runId });
    await dying.wait(first.runId).catch(() => {});
    expect(points.hasCrashed).toBe(true);
    const model = scripted([text("paid")]);
    const runtime = open(model, { store, tools });
    const waiting = await runtime.resume(first.runId);
    expect(ticketsOf(waiting)).toMatchObject([{ toolCallId: "c1", action: "unknown-outcome", input: { n: 5 } }]);
    await runtime.decide(ticketsOf(waiting)[0]?.id ?? "", { action: "approve" });
    await runtime.wait(first.runId);
    expect(world.done).toEqual(["pay 5"]);
    expect(lastPrompt(model)).toEqual(["user: go", "assistant: ", 'tool: {"did":5}']);
  });
});

/** Decides by the conversation alone, so that any process can go on: one step per round of results, each with its calls. */
function planned(steps: readonly (readonly { readonly name: string; readonly n: number }[])[]): Provider {
  return {
    name: "planned",
    async *stream({ messages }: InferenceRequest): AsyncIterable<StreamPart> {
      const done = messages.filter((message) => messageToolCalls(message).length > 0).length;
      const calls = steps[done];
      if (calls === undefined) yield { type: "text-delta", delta: `done after ${done}` };
      for (const [index, { name, n }] of (calls ?? []).entries()) {
        yield { type: "tool-call-start", id: `c${index}`, name };
        yield { type: "tool-call-delta", id: `c${index}`, delta: JSON.stringify({ n }) };
      }
      yield { type: "stop", reason: calls === undefined ? "end-turn" : "tool-use" };
    },
  };
}

describe("a crash at every point of a run with every kind of tool", () => {
  const model = planned([
    [
      { name: "plain", n: 1 },
      { name: "asked", n: 2 },
      { name: "known", n: 3 },
    ],
    [{ name: "pure", n: 4 }],
    [
      { name: "same", n: 5 },
      { name: "waits", n: 6 },
      { name: "plain", n: 7 },
    ],
    [
      { name: "pure", n: 8 },
      { name: "known", n: 9 },
    ],
  ]);

  /** `waits` begins, stops for a decision, and has its effect when it runs again. */
  const toolsOf = (world: World) => {
    const waits = defineTool({
      id: "waits",
      description: "",
      input,
      reconcile: world.reconcile,
      execute: ({ n }, { resume, idempotencyKey }) => {
        if (resume === undefined) return wait({ action: "confirm", message: "really?" });
        world.effects.push(`waits ${n} ${idempotencyKey}`);
        return { did: n };
      },
    });
    return [
      world.tool("plain"),
      world.tool("asked", { approve: () => ask("May I?") }),
      world.tool("known", { reconcile: world.reconcile }),
      world.tool("same", { idempotent: true }),
      world.tool("pure", { pure: true }),
      waits,
    ];
  };

  interface Life {
    readonly at: CrashPoint;
    readonly nth: number;
  }

  /** How the next process goes on with what it finds: by taking up the run, or because somebody writes something new. */
  type Way = "resume" | "message";

  /** One process: goes on wherever the thread stands and follows it, until it is over or the process is. */
  async function live(
    store: Store,
    world: World,
    agents: NonNullable<RuntimeInit["agents"]>,
    death: Life | undefined,
    way: Way = "resume",
  ): Promise<boolean> {
    const points = crashPoints(death === undefined ? undefined : { ...death, mode: "throw" });
    const runtime = open(model, {
      store: points.commits(store, "commit", "transaction"),
      tools: points.tools(toolsOf(world)),
      agents,
    });
    const before = await store.threads.loadHead(threadId("t"));
    const found = way === "resume" ? before?.openRun : undefined;
    if (way === "resume" && before?.latestRun?.status === "done") return true;
    const hear = points.emits(() => {});
    const follow = async (request: RunRequest) => {
      const run = runtime.stream(request);
      for await (const event of run) hear(event);
      return run.result;
    };
    const isKnown = ({ action, parameters }: Ticket) =>
      action === "unknown-outcome" && world.effects.some((effect) => JSON.stringify(parameters).includes(effect.split(" ")[2] ?? "?"));
    const decisionOf = (ticket: Ticket): TicketDecision => ({
      ticket: ticket.id,
      decision: isKnown(ticket) ? { action: "answer", result: { did: 0 } } : { action: "approve" },
    });
    try {
      let result =
        found === undefined
          ? await follow({ thread: "t", input: "go" })
          : found.status === "waiting"
            ? await runtime.wait(found.runId)
            : await follow({ thread: "t", resume: found.runId });
      while (result.status === "waiting") {
        result = await follow({ thread: "t", resume: result.runId, decisions: result.tickets.map(decisionOf) });
      }
      expect(result.termination).toEqual({ type: "natural-end" });
      return !points.hasCrashed;
    } catch (thrown) {
      if (points.hasCrashed) return false;
      throw thrown;
    }
  }

  const ALL = ["asked 2", "known 3", "known 9", "plain 1", "plain 7", "same 5", "waits 6"];

  it.each(["parallel", "sequential"] as const)(
    "%s: every effect happens once, every call has one result, and the run ends",
    async (mode) => {
      const agents = { default: { model: "fast", toolExecution: mode } };
      let deaths = 0;
      for (const at of CRASH_POINTS) {
        for (let nth = 1, isOver = false; !isOver; nth++) {
          const [store, world] = [memoryStore(), new World()];
          isOver = await live(store, world, agents, { at, nth });
          if (isOver) break;
          deaths += 1;
          // The second process dies too, a little later; the third one finishes.
          const second = await live(store, world, agents, { at: "commit-end", nth: 1 + (nth % 4) });
          if (!second) await live(store, world, agents, undefined);
          expect(world.done.filter((effect) => !effect.startsWith("pure")).toSorted(), `${at} ${nth}`).toEqual(ALL);
          const head = await store.threads.loadHead(threadId("t"));
          const log = head?.messages ?? [];
          expect(effectiveMessages(log)).toEqual(log);
          expect(log.filter(({ message }) => message.role === "tool").length, `${at} ${nth}`).toBe(9);
          expect(log.filter(({ message }) => message.role === "user").length).toBe(1);
          expect(log.slice(-1).map(({ message }) => messageText(message))).toEqual(["done after 4"]);
        }
      }
      expect(deaths).toBeGreaterThan(60);
    },
  );

  /** Every call that was claimed is in view, with a result; of each thing that was asked for, at most one happened. */
  async function expectNothingTwice(store: Store, world: World, where: string): Promise<void> {
    const effects = world.done.filter((effect) => !effect.startsWith("pure"));
    expect(effects.length, `${where}: ${effects.join(", ")}`).toBe(new Set(effects).size);
    const log = (await store.threads.loadHead(threadId("t")))?.messages ?? [];
    expect(effectiveMessages(log)).toEqual(log);
    expect(log.at(-1)?.message.role).toBe("assistant");
    const shown = log.flatMap(({ message }) => messageToolCalls(message).map((call) => `${message.id} ${call.id}`));
    const { items: runs } = await store.runs.list({});
    for (const { runId, status } of runs) {
      expect(status, where).toBe("done");
      for (const { messageId, toolCallId, status } of await store.ledger.list(runId)) {
        if (status === "claimed") expect(shown, where).toContain(`${messageId} ${toolCallId}`);
      }
    }
    for (const effect of world.effects) {
      const [, , key = ""] = effect.split(" ");
      const entry = await store.ledger.load(key);
      if (entry !== undefined) expect(shown, `${where}: ${effect}`).toContain(`${entry.messageId} ${entry.toolCallId}`);
    }
  }

  it.each(["parallel", "sequential"] as const)(
    "core-execution 96: %s, and a new message comes instead of a resume: no effect happens twice, nothing that was started vanishes",
    async (mode) => {
      const agents = { default: { model: "fast", toolExecution: mode } };
      let deaths = 0;
      for (const at of CRASH_POINTS) {
        for (let nth = 1, isOver = false; !isOver; nth++) {
          const [store, world] = [memoryStore(), new World()];
          isOver = await live(store, world, agents, { at, nth });
          if (isOver) break;
          deaths += 1;
          // The process that gets the message dies too, at its first commits or in its first tools; the next message comes through.
          const second = await live(store, world, agents, { at: CRASH_POINTS[nth % 5] ?? at, nth: 1 + (nth % 3) }, "message");
          if (!second) await live(store, world, agents, undefined, "message");
          await expectNothingTwice(store, world, `${at} ${nth}`);
        }
      }
      expect(deaths).toBeGreaterThan(60);
    },
  );
});
