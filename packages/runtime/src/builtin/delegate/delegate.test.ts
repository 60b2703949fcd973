import { type AgentEvent, messageText, runId, type ToolCallProgress } from "@awaken/contract";
import type { QueueStore } from "@awaken/contract/store";
import { memoryStore } from "@awaken/stores/memory";
import { sqliteStore } from "@awaken/stores/sqlite";
import { describe, expect, test } from "vitest";
import * as z from "zod";
import type { RuntimeInit } from "../../create-runtime.ts";
import { definePlugin } from "../../plugin/define-plugin.ts";
import { defineState } from "../../state/key.ts";
import { checkEvents } from "../../testing/event-checker.ts";
import { text, toolCall, toolCalls } from "../../testing/script.ts";
import { defineTool } from "../../tool/define-tool.ts";
import { reply } from "../../tool/reply.ts";
import { ask } from "../../tool/verdict.ts";
import { team } from "./team.test-support.ts";

const asks = (agent: string, prompt: string, id = `ask-${agent}`) => toolCall(`agent_run_${agent}`, { prompt }, { id });

const echo = defineTool({
  id: "echo",
  description: "",
  input: z.object({ text: z.string() }),
  execute: ({ text: said }, { progress }) => {
    progress({ message: `echoes ${said}` });
    return { said };
  },
});

async function collect(stream: AsyncIterable<AgentEvent>): Promise<AgentEvent[]> {
  const events: AgentEvent[] = [];
  for await (const event of stream) events.push(event);
  return events;
}

const STORES: readonly (readonly [string, () => QueueStore | undefined])[] = [
  ["no store", () => undefined],
  ["memory", () => memoryStore()],
  ["sqlite", () => sqliteStore(":memory:")],
];

const given = (store: QueueStore | undefined) => (store === undefined ? {} : { store });

describe.each(STORES)("a delegate as a tool, with %s", (name, make) => {
  test("multi-agent 8: the parent reads the final answer of the child, and no tool text; a grandchild's parent is the child", async () => {
    const { runtime, models } = team(
      {
        lead: { turns: [asks("researcher", "  find it  "), text("it is 42")], spec: { delegates: ["researcher"], tools: [] } },
        researcher: {
          turns: [toolCall("echo", { text: "noise" }), asks("clerk", "look"), text("42")],
          spec: { delegates: ["clerk"], tools: ["echo"] },
        },
        clerk: { turns: [text("in the file")], spec: { tools: [] } },
      },
      { ...given(make()), tools: [echo] },
    );
    const run = runtime.stream({ agent: "lead", thread: "t", input: "what is it?" });
    const events = await collect(run);
    checkEvents(events);
    expect(await run.result).toMatchObject({ status: "done", text: "it is 42", steps: 2 });
    expect(models["lead"]?.requests[0]?.tools).toMatchObject([{ id: "agent_run_researcher", description: "The researcher" }]);
    const told = models["lead"]?.requests[1]?.messages.at(-1);
    expect(told === undefined ? "" : messageText(told)).toBe("42");
    expect(models["researcher"]?.requests[0]?.messages.map(messageText)).toEqual(["find it"]);
    const started = events.filter((event) => event.type === "child-start");
    expect(started).toMatchObject([{ agentId: "researcher", agentPath: ["lead", "researcher"], toolCallId: "ask-researcher" }]);
    expect(events.filter((event) => event.type === "child-end")).toMatchObject([
      { agentId: "researcher", outcome: { status: "done", response: "42" } },
    ]);
    const end = events.find((event) => event.type === "tool-call-end");
    expect(end).toMatchObject({
      result: { data: { agent_id: "researcher", status: "completed", response: "42", steps: 3, output: { text: "42" } } },
    });
    await runtime.close();
  });

  test("multi-agent 20: of the child's calls only its own report to the parent's listeners", async () => {
    const { runtime } = team(
      {
        lead: { turns: [asks("researcher", "x"), text("ok")], spec: { delegates: ["researcher"] } },
        researcher: { turns: [toolCall("echo", { text: "one" }), asks("clerk", "x"), text("ok")], spec: { delegates: ["clerk"] } },
        clerk: { turns: [toolCall("echo", { text: "two" }), text("ok")] },
      },
      { ...given(make()), tools: [echo] },
    );
    const events = await collect(runtime.stream({ agent: "lead", input: "x" }));
    const said = events.flatMap((event) => (event.type === "activity-snapshot" ? [event.content as unknown as ToolCallProgress] : []));
    expect(said.map(({ message, status }) => `${status} ${message}`)).toEqual([
      "running delegating to researcher",
      "running echoes one",
      "running delegating to clerk",
      "done delegation to clerk completed",
      "done delegation to researcher completed",
    ]);
    await runtime.close();
  });

  test("multi-agent 15: a prompt that is missing, no text, or blank is told to the model as invalid arguments", async () => {
    const calls = [{}, { prompt: 5 }, { prompt: "  " }].map((input) => ({ name: "agent_run_b", input }));
    const { runtime, models } = team(
      { a: { turns: [toolCalls(calls), text("ok")], spec: { delegates: ["b"] } }, b: { turns: [] } },
      given(make()),
    );
    await runtime.run({ agent: "a", input: "x" });
    const told = models["a"]?.requests[1]?.messages.slice(-3).map(messageText);
    expect(told).toEqual([
      'Invalid arguments: missing required field "prompt"',
      'Invalid arguments: missing required field "prompt"',
      "Invalid arguments: prompt must not be empty",
    ]);
    await runtime.close();
  });

  test("multi-agent 17: a failed delegate is an error result with its label and no ticket", async () => {
    const { runtime } = team(
      {
        a: { turns: [asks("b", "x"), text("ok")], spec: { delegates: ["b"] } },
        b: { turns: [toolCall("echo", { text: "x" })], spec: { maxSteps: 1 } },
      },
      { ...given(make()), tools: [echo] },
    );
    const run = runtime.stream({ agent: "a", input: "x" });
    const events = await collect(run);
    expect(events.find((event) => event.type === "tool-call-end")).toMatchObject({
      outcome: "failed",
      result: { type: "error", code: "delegate_failed", data: { status: "failed: stopped: max-steps" } },
    });
    expect(events.some((event) => event.type === "ticket-open")).toBe(false);
    expect(await run.result).toMatchObject({ status: "done" });
    await runtime.close();
  });

  test("multi-agent 64: delegation deeper than the limit is an error that the model reads", async () => {
    const { runtime, models } = team(
      { a: { turns: [asks("a", "1"), asks("a", "2"), text("no"), text("done")], spec: { delegates: ["a"] } } },
      { ...given(make()), maxDelegationDepth: 1 },
    );
    expect(await runtime.run({ agent: "a", input: "x" })).toMatchObject({ status: "done", text: "done" });
    const told = models["a"]?.requests[2]?.messages.at(-1);
    expect(told === undefined ? "" : messageText(told)).toBe("delegation depth limit exceeded: a > a > a");
    await runtime.close();
  });

  test("multi-agent 18: a parent that is cancelled cancels its child, and nothing more is heard of it", async () => {
    const began = Promise.withResolvers<void>();
    const { runtime } = team(
      {
        a: { turns: [asks("b", "x")], spec: { delegates: ["b"] } },
        b: {
          turns: [
            () => {
              began.resolve();
              return { items: [{ type: "hang" }] };
            },
          ],
        },
      },
      given(make()),
    );
    const run = runtime.stream({ agent: "a", input: "x" });
    const reading = collect(run);
    await began.promise;
    expect(await runtime.cancel(run.id)).toBe(true);
    const events = await reading;
    expect(await run.result).toMatchObject({ status: "cancelled" });
    expect(events.filter((event) => event.type === "child-end")).toMatchObject([{ outcome: { status: "cancelled" } }]);
    expect(events.at(-1)).toMatchObject({ type: "run-end" });
    await runtime.close();
  });

  test("multi-agent 7: a plugin of the delegate is bound exactly once", async () => {
    let bound = 0;
    const plugin = definePlugin({
      id: "counting",
      register() {},
      onBind: () => {
        bound += 1;
        return undefined;
      },
    });
    const { runtime } = team(
      {
        a: { turns: [asks("b", "hello"), text("ok")], spec: { delegates: ["b"] } },
        b: { turns: [text("delegated response")], spec: { plugins: ["counting"] } },
      },
      { ...given(make()), plugins: [plugin] },
    );
    expect(await runtime.run({ agent: "a", input: "x" })).toMatchObject({ status: "done" });
    expect(bound).toBe(1);
    await runtime.close();
  });

  test("multi-agent 60: a delegate has neither the overrides nor the frontend tools of its parent", async () => {
    const { runtime, models } = team(
      { a: { turns: [asks("b", "x"), text("ok")], spec: { delegates: ["b"] } }, b: { turns: [text("ok")] } },
      given(make()),
    );
    const pick = { id: "pick", description: "", parameters: { type: "object" } };
    await runtime.run({ agent: "a", input: "x", overrides: { temperature: 0.5 }, frontendTools: [pick] });
    expect(models["a"]?.requests[0]).toMatchObject({ overrides: { temperature: 0.5 } });
    expect(models["b"]?.requests[0]?.tools).toEqual([]);
    expect(models["b"]?.requests[0]).not.toHaveProperty("overrides");
    await runtime.close();
  });

  test(`multi-agent 10: on record, or with it, the child is of its parent (${name})`, async () => {
    const seen: unknown[] = [];
    const who = defineTool({
      id: "who",
      description: "",
      input: z.object({}),
      execute: (_, { identity, principal }) => {
        seen.push({ ...identity, principal });
        return "ok";
      },
    });
    const { runtime } = team(
      {
        a: { turns: [asks("b", "x", "c1"), text("ok")], spec: { delegates: ["b"] } },
        b: { turns: [toolCall("who", {}), text("ok")] },
      },
      { ...given(make()), tools: [who] },
    );
    const { runId: parentRunId } = await runtime.run({ agent: "a", thread: "t", input: "x", principal: { sub: "ana" } });
    const [child] = seen as { runId: string; threadId: string }[];
    expect(child?.runId).toBe(child?.threadId);
    expect(child).toMatchObject({
      ...{ origin: "subagent", agentId: "b", parentRunId, rootRunId: parentRunId, parentThreadId: "t", parentToolCallId: "c1" },
      agentPath: ["a", "b"],
      principal: { sub: "ana" },
    });
    expect(child?.runId).not.toBe(parentRunId);
    await runtime.close();
  });
});

describe("ctx.runAgent", () => {
  const count = defineState("count", { schema: z.number(), initial: () => 0, apply: (_value, next: number) => next });
  const look = defineTool({
    id: "look",
    description: "",
    input: z.object({}),
    state: [count],
    execute: (_, { state }) => reply({ count: state.get(count) ?? 0 }),
  });

  /** A tool that asks `b` and keeps what it was told. */
  function asking(request: { state?: { [key: string]: number }; mustComplete?: boolean } = {}) {
    const told: unknown[] = [];
    const tool = defineTool({
      id: "ask_b",
      description: "",
      input: z.object({}),
      execute: async (_, ctx) => {
        const result = await ctx.runAgent({ agent: "b", input: "x", ...request });
        told.push(result);
        return result.status;
      },
    });
    return { told, tool };
  }

  test("multi-agent 12: a seed of a registered key is seen by the child's tools and comes back; one of an unknown key fails it before any inference", async () => {
    const good = asking({ state: { count: 7 } });
    const bad = asking({ state: { nobody: 1 } });
    for (const { tool, told } of [good, bad]) {
      const { runtime, models } = team(
        { a: { turns: [toolCall("ask_b", {}), text("ok")] }, b: { turns: [toolCall("look", {}), text("ok")] } },
        { store: memoryStore(), tools: [tool, look] },
      );
      await runtime.run({ agent: "a", input: "x" });
      if (tool === good.tool) {
        const read = models["b"]?.requests[1]?.messages.at(-1);
        expect(read === undefined ? "" : messageText(read)).toBe('{"count":7}');
        expect(told).toMatchObject([{ status: "done", label: "completed", state: { extensions: { count: 7 } } }]);
      } else {
        expect(told).toEqual([]);
        expect(models["b"]?.requests).toEqual([]);
        const read = models["a"]?.requests[1]?.messages.at(-1);
        expect(read === undefined ? "" : messageText(read)).toContain("nobody");
      }
      await runtime.close();
    }
  });

  test("multi-agent 14: with mustComplete a child that fails throws, with what became of it", async () => {
    const { tool, told } = asking({ mustComplete: true });
    const { runtime, models } = team(
      { a: { turns: [toolCall("ask_b", {}), text("ok")] }, b: { turns: [toolCall("look", {})], spec: { maxSteps: 1 } } },
      { store: memoryStore(), tools: [tool, look] },
    );
    await runtime.run({ agent: "a", input: "x" });
    expect(told).toEqual([]);
    const read = models["a"]?.requests[1]?.messages.at(-1);
    expect(read === undefined ? "" : messageText(read)).toBe("Execution failed: child agent did not complete: failed: stopped: max-steps");
    await runtime.close();
  });

  test("multi-agent 11: an empty answer is absent", async () => {
    const { tool, told } = asking();
    const { runtime } = team(
      { a: { turns: [toolCall("ask_b", {}), text("ok")] }, b: { turns: [text("")] } },
      { store: memoryStore(), tools: [tool] },
    );
    await runtime.run({ agent: "a", input: "x" });
    expect(told).toMatchObject([{ status: "done", text: "", output: { artifacts: [] } }]);
    expect((told[0] as { output: object }).output).not.toHaveProperty("text");
    await runtime.close();
  });

  test("multi-agent 9: an agent that is not there is not found, and a resolver that fails is a failed execution with its cause", async () => {
    const tool = defineTool({
      id: "ask_nobody",
      description: "",
      input: z.object({}),
      execute: async (_, ctx) => (await ctx.runAgent({ agent: "nobody", input: "x" })).status,
    });
    const asking = { a: { turns: [toolCall("ask_nobody", {}), text("ok")] } };
    const told = async (init: Partial<RuntimeInit>) => {
      const { runtime, models } = team(asking, { tools: [tool], ...init });
      await runtime.run({ agent: "a", input: "x" });
      await runtime.close();
      const read = models["a"]?.requests[1]?.messages.at(-1);
      return read === undefined ? "" : messageText(read);
    };
    expect(await told({})).toMatch(/^Execution failed: agent not found: nobody/);
    const failing: RuntimeInit["resolver"] = {
      agentIds: () => live.resolver.agentIds(),
      open: () => {
        const opened = live.resolver.open();
        return {
          ...opened,
          resolve: (id) => {
            if (id === "nobody") throw new Error("the registry is down");
            return opened.resolve(id);
          },
        };
      },
    };
    const { runtime: live, models } = team(asking, { tools: [tool] });
    const { runtime } = team(asking, { resolver: failing });
    await runtime.run({ agent: "a", input: "x" });
    const read = models["a"]?.requests[1]?.messages.at(-1);
    expect(read === undefined ? "" : messageText(read)).toBe(
      "Execution failed: execution failed: failed to resolve agent 'nobody': the registry is down",
    );
    await Promise.all([runtime.close(), live.close()]);
  });
});

describe("a child that waits, without records of its own", () => {
  test("multi-agent 16: the call waits with a ticket that names the child run and the call, and the answer is its result", async () => {
    const pay = defineTool({ id: "pay", description: "", input: z.object({}), approve: () => ask("Pay?"), execute: () => "paid" });
    const { runtime, models } = team(
      { a: { turns: [asks("b", "x", "c1"), text("ok")], spec: { delegates: ["b"] } }, b: { turns: [toolCall("pay", {})] } },
      { tools: [pay] },
    );
    const waiting = await runtime.run({ agent: "a", input: "x" });
    expect(waiting).toMatchObject({
      status: "waiting",
      tickets: [
        {
          toolName: "agent_run_b",
          action: "agent-delegate:suspended",
          resumeMode: "use-decision-as-tool-result",
          parameters: { agentId: "b", backendStatus: "suspended", toolCallId: "c1", childRunId: expect.any(String) },
        },
      ],
    });
    const [ticket] = waiting.status === "waiting" ? waiting.tickets : [];
    const run = await runtime.decide(ticket?.id ?? "", { action: "answer", result: "I paid" });
    expect(await run.result).toMatchObject({ status: "done", text: "ok" });
    const read = models["a"]?.requests[1]?.messages.at(-1);
    expect(read === undefined ? "" : messageText(read)).toBe("I paid");
    await runtime.close();
  });
});

test("multi-agent 10: the records of a durable child are those of a run, and its thread knows where it comes from", async () => {
  const store = memoryStore();
  const { runtime } = team(
    { a: { turns: [asks("b", "x", "c1"), text("ok")], spec: { delegates: ["b"] } }, b: { turns: [text("done")] } },
    { store },
  );
  const { runId: parentRunId } = await runtime.run({ agent: "a", thread: "t", input: "x" });
  const [child] = (await store.runs.list({ parentRunId: runId(parentRunId) })).items;
  expect(child).toMatchObject({ status: "done", agentId: "b", rootRunId: parentRunId, outcome: { response: "done" } });
  expect(await store.threads.load(child?.threadId ?? never())).toMatchObject({ parentThreadId: "t" });
  await runtime.close();
});

function never(): never {
  throw new Error("there is no child");
}
