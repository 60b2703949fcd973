import { type Message, messageText } from "@awaken/contract";
import { describe, expect, it } from "vitest";
import * as z from "zod";
import { command } from "../phase/command.ts";
import { definePlugin } from "../plugin/define-plugin.ts";
import { excludeTool } from "../prompt/actions.ts";
import { defineState } from "../state/key.ts";
import { fakeClock } from "../testing/fake-clock.ts";
import { runScripted } from "../testing/run-scripted.ts";
import { text, toolCall, toolCalls } from "../testing/script.ts";
import { defineTool } from "../tool/define-tool.ts";
import { reply, wait } from "../tool/reply.ts";
import { answer, block } from "../tool/verdict.ts";

const counter = defineState("test.counter", {
  schema: z.number(),
  initial: () => 0,
  apply: (value, add: number) => value + add,
});

const keys = definePlugin({
  id: "keys",
  register(r) {
    r.state(counter);
  },
});

const nothing = z.object({});

const add = defineTool({
  id: "add",
  description: "",
  input: z.object({ n: z.number() }),
  execute: ({ n }, { state }) => reply({ before: state.get(counter) ?? null }, { command: command().update(counter, n) }),
});

const waiting = defineTool({
  id: "waiting",
  description: "",
  input: nothing,
  execute: () => wait({ action: "confirm", message: "sure?" }),
});

const toolTexts = (messages: readonly Message[] | undefined) =>
  (messages ?? []).filter((message) => message.role === "tool").map((message) => messageText(message));

describe("tool round", () => {
  it("core-execution 43: in sequence a call sees what the one before it wrote, in parallel it does not", async () => {
    const turns = () => [
      toolCalls([
        { name: "add", input: { n: 1 } },
        { name: "add", input: { n: 1 } },
      ]),
      text("x"),
    ];
    const sequential = await runScripted({ turns: turns(), tools: [add], plugins: [keys], spec: { toolExecution: "sequential" } });
    expect(toolTexts(sequential.model?.requests[1]?.messages)).toEqual(['{"before":null}', '{"before":1}']);
    const parallel = await runScripted({ turns: turns(), tools: [add], plugins: [keys] });
    expect(toolTexts(parallel.model?.requests[1]?.messages)).toEqual(['{"before":null}', '{"before":null}']);
  });

  it("core-execution 44: in sequence nothing runs after a call that waits", async () => {
    let ran = 0;
    const x = defineTool({ id: "x", description: "", input: nothing, execute: () => ++ran });
    const { result, thread, events } = await runScripted({
      turns: [
        toolCalls([
          { name: "waiting", input: {} },
          { name: "x", input: {} },
        ]),
      ],
      tools: [waiting, x],
      spec: { toolExecution: "sequential" },
    });
    expect(ran).toBe(0);
    expect(result).toMatchObject({ status: "waiting", termination: { type: "suspended" } });
    expect(toolTexts(thread.said)).toEqual([
      "Tool 'waiting' suspended: awaiting decision",
      "This call has not run yet: a call before it waits for a decision.",
    ]);
    expect(events.filter((event) => event.type === "tool-call-end").map((event) => event.outcome)).toEqual(["suspended"]);
  });

  it("core-execution 45: in parallel the sibling of a call that waits runs, and the run still waits", async () => {
    let ran = 0;
    const x = defineTool({ id: "x", description: "", input: nothing, execute: () => ++ran });
    const { result } = await runScripted({
      turns: [
        toolCalls([
          { name: "waiting", input: {} },
          { name: "x", input: {} },
        ]),
      ],
      tools: [waiting, x],
    });
    expect(ran).toBe(1);
    expect(result.status).toBe("waiting");
  });

  it("core-execution 46: results are in call order, whichever tool is ready first", async () => {
    const clock = fakeClock();
    const after = defineTool({
      id: "after",
      description: "",
      input: z.object({ ms: z.number() }),
      execute: ({ ms }) => new Promise<number>((resolve) => clock.timer(ms, () => resolve(ms))),
    });
    const running = runScripted({
      turns: [toolCalls([30, 20, 10].map((ms) => ({ name: "after", input: { ms } }))), text("x")],
      tools: [after],
      clock,
    });
    await clock.runAll();
    const { model, events } = await running;
    expect(toolTexts(model?.requests[1]?.messages)).toEqual(["30", "20", "10"]);
    expect(events.filter((event) => event.type === "tool-call-end").map((event) => event.result)).toMatchObject([
      { data: 30 },
      { data: 20 },
      { data: 10 },
    ]);
  });

  it("core-execution 47: a call that a gate blocks is gated again after the calls before it ran", async () => {
    const unlock = defineTool({
      id: "unlock",
      description: "",
      input: nothing,
      execute: () => reply("unlocked", { command: command().update(counter, 1) }),
    });
    const guarded = defineTool({ id: "guarded", description: "", input: nothing, execute: () => "treasure" });
    let before = 0;
    const gate = definePlugin({
      id: "gate",
      register(r) {
        r.gate(({ call, state }) => (call.name === "guarded" && state.get(counter) === undefined ? block("locked") : undefined));
        r.hook("beforeToolExecute", ({ call }) => {
          if (call.name === "guarded") before += 1;
        });
      },
    });
    const both = (names: readonly string[]) => [toolCalls(names.map((name) => ({ name, input: {} }))), text("x")];
    const opened = await runScripted({ turns: both(["unlock", "guarded"]), tools: [unlock, guarded], plugins: [keys, gate] });
    expect(toolTexts(opened.model?.requests[1]?.messages)).toEqual(["unlocked", "treasure"]);
    expect(before).toBe(1);
    const closed = await runScripted({ turns: both(["guarded", "unlock"]).slice(0, 1), tools: [unlock, guarded], plugins: [keys, gate] });
    expect(closed.result.termination).toEqual({ type: "blocked", reason: "locked" });
  });

  it("core-execution 48: a block on call 1 of 2 is on record with its reason, and the run is done", async () => {
    const gate = definePlugin({
      id: "gate",
      register(r) {
        r.gate(({ call }) => (call.name === "one" ? block("not today") : undefined));
      },
    });
    const named = (id: string) => defineTool({ id, description: "", input: nothing, execute: () => id });
    const { thread, result } = await runScripted({
      turns: [
        toolCalls([
          { name: "one", input: {} },
          { name: "two", input: {} },
        ]),
      ],
      tools: [named("one"), named("two")],
      plugins: [gate],
    });
    expect(thread.said.map((message) => message.role)).toEqual(["user", "assistant", "tool", "tool"]);
    expect(toolTexts(thread.said)).toEqual(["Denied: not today", "[Tool execution was interrupted]"]);
    expect(result).toMatchObject({ status: "done", termination: { type: "blocked", reason: "not today" } });
    expect(thread.run).toMatchObject({ status: "done", outcome: { termination: { type: "blocked", reason: "not today" } } });
  });

  it("core-execution 49: two parallel tools that add 3 to an exclusive counter make 6", async () => {
    const { thread } = await runScripted({
      turns: [
        toolCalls([
          { name: "add", input: { n: 3 } },
          { name: "add", input: { n: 3 } },
        ]),
        text("x"),
      ],
      tools: [add],
      plugins: [keys],
    });
    expect(thread.run?.state?.extensions["test.counter"]).toBe(6);
  });

  it("core-execution 23: an action that a tool schedules runs once, before the next inference", async () => {
    const hide = defineTool({
      id: "hide",
      description: "",
      input: nothing,
      execute: () => reply("hidden", { command: command().schedule(excludeTool, "hide") }),
    });
    const { model } = await runScripted({ turns: [toolCall("hide", {}), toolCall("hide", {}), text("x")], tools: [hide] });
    expect(model?.requests.map((request) => request.tools.length)).toEqual([1, 0, 0]);
  });

  it("a gate's answer is the result, and the tool does not run", async () => {
    let ran = 0;
    const tool = defineTool({ id: "tool", description: "", input: nothing, execute: () => ++ran });
    const gate = definePlugin({
      id: "gate",
      register(r) {
        r.gate(() => answer({ cached: true }));
      },
    });
    const { model } = await runScripted({ turns: [toolCall("tool", {}), text("x")], tools: [tool], plugins: [gate] });
    expect(ran).toBe(0);
    expect(toolTexts(model?.requests[1]?.messages)).toEqual(['{"cached":true}']);
  });

  it("a call whose input does not fit, a throw and a timeout are results for the model", async () => {
    const clock = fakeClock();
    const strict = defineTool({ id: "strict", description: "", input: z.object({ n: z.number() }), execute: ({ n }) => n });
    const throws = defineTool({
      id: "throws",
      description: "",
      input: nothing,
      execute: () => {
        throw new Error("broken pipe");
      },
    });
    const hangs = defineTool({ id: "hangs", description: "", input: nothing, timeoutMs: 50, execute: () => new Promise<never>(() => {}) });
    const running = runScripted({
      turns: [
        toolCalls([
          { name: "strict", input: { n: "one" } },
          { name: "throws", input: {} },
          { name: "hangs", input: {} },
        ]),
        text("x"),
      ],
      tools: [strict, throws, hangs],
      clock,
    });
    await clock.runAll();
    const { model, result, events } = await running;
    const [invalid, thrown, late] = toolTexts(model?.requests[1]?.messages);
    expect(invalid).toMatch(/^Invalid arguments: n: /);
    expect(thrown).toBe("Execution failed: broken pipe");
    expect(late).toBe("Timeout: no result within 50 ms");
    expect(events.filter((event) => event.type === "tool-call-end").at(-1)?.result).toMatchObject({ metadata: { timedOut: true } });
    expect(result.termination.type).toBe("natural-end");
    expect(clock.pendingTimers).toBe(0);
  });

  it("a tool command that names an unknown key fails the call, not the run", async () => {
    const { model, result } = await runScripted({ turns: [toolCall("add", { n: 1 }), text("x")], tools: [add] });
    expect(toolTexts(model?.requests[1]?.messages)[0]).toContain("state key 'test.counter' is not registered");
    expect(result.termination.type).toBe("natural-end");
  });

  it("a hook that fails after a tool leaves the results of all its siblings on record", async () => {
    const bad = definePlugin({
      id: "bad",
      register(r) {
        r.hook("afterToolExecute", ({ call }) => {
          if (call.name === "one") throw new Error("boom");
        });
      },
    });
    const named = (id: string) => defineTool({ id, description: "", input: nothing, execute: () => id });
    const { thread, result } = await runScripted({
      turns: [toolCalls(["one", "two", "three"].map((name) => ({ name, input: {} })))],
      tools: ["one", "two", "three"].map(named),
      plugins: [bad],
    });
    expect(result.termination).toMatchObject({ type: "error", code: "hook_failed" });
    expect(toolTexts(thread.said)).toEqual(["one", "two", "three"]);
  });

  it("tells progress, activity and output while it runs, and has a stable key", async () => {
    const keysSeen: string[] = [];
    const chatty = defineTool({
      id: "chatty",
      description: "",
      input: nothing,
      execute: (_input, ctx) => {
        keysSeen.push(ctx.idempotencyKey);
        ctx.progress({ progress: 0.5, message: "half" });
        ctx.activity("search", { hits: 3 });
        ctx.output("line");
        return "ok";
      },
    });
    const { events } = await runScripted({ turns: [toolCall("chatty", {}, { id: "c9" }), text("x")], tools: [chatty] });
    expect(events.filter((event) => event.type === "activity-snapshot")).toMatchObject([
      {
        activityType: "tool-call-progress",
        replace: true,
        content: { schema: "tool-call-progress.v1", nodeId: "tool_call:c9", status: "running", progress: 0.5 },
      },
      { activityType: "search", content: { hits: 3 } },
    ]);
    expect(events.find((event) => event.type === "tool-call-stream-delta")).toMatchObject({ toolName: "chatty", delta: "line" });
    expect(keysSeen[0]).toContain("c9");
  });
});
