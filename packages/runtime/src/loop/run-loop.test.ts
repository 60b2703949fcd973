import { InferenceError, type InferenceRequest, messageText } from "@awaken/contract";
import { describe, expect, it } from "vitest";
import * as z from "zod";
import { command } from "../phase/command.ts";
import { definePlugin } from "../plugin/define-plugin.ts";
import { excludeTool, includeOnlyTools, setInferenceOverride } from "../prompt/actions.ts";
import { activeAgent } from "../state/active-agent.ts";
import { runLifecycle } from "../state/run-lifecycle.ts";
import { fakeClock } from "../testing/fake-clock.ts";
import { eventTypes, lifecycleTypes, runScripted } from "../testing/run-scripted.ts";
import { cut, failure, parts, stall, text, toolCall, toolCalls } from "../testing/script.ts";
import { defineTool } from "../tool/define-tool.ts";

const echo = defineTool({
  id: "echo",
  description: "Says it back",
  input: z.object({ text: z.string() }),
  execute: ({ text: said }) => ({ said }),
});

const roles = (request: InferenceRequest | undefined) => request?.messages.map((message) => message.role);

describe("run and step", () => {
  it("core-execution 30: a text answer goes start, step, inference, step end, run end", async () => {
    const { events, result, model } = await runScripted({ turns: [text("Hel", "lo")] });
    expect(lifecycleTypes(events)).toEqual(["run-start", "step-start", "inference-end", "step-end", "run-end"]);
    expect(eventTypes(events)).toEqual([
      "run-start",
      "input-accepted",
      "step-start",
      "text-delta",
      "text-delta",
      "inference-end",
      "state-snapshot",
      "step-end",
      "state-snapshot",
      "run-end",
    ]);
    expect(result).toMatchObject({ text: "Hello", status: "done", termination: { type: "natural-end" }, steps: 1 });
    expect(result.usage.totalTokens).toBe(15);
    model?.assertDone();
  });

  it("core-execution 31: in a tool round the call starts, the inference ends, the call ends, the step ends", async () => {
    const { events, result, model } = await runScripted({ turns: [toolCall("echo", { text: "hi" }), text("done")], tools: [echo] });
    expect(eventTypes(events).slice(1, 11)).toEqual([
      "input-accepted",
      "step-start",
      "tool-call-start",
      "tool-call-delta",
      "tool-call-ready",
      "inference-end",
      "tool-call-run",
      "tool-call-end",
      "state-snapshot",
      "step-end",
    ]);
    expect(events.find((event) => event.type === "tool-call-end")).toMatchObject({
      toolName: "echo",
      outcome: "succeeded",
      result: { type: "success", data: { said: "hi" } },
    });
    expect(roles(model?.requests[1])).toEqual(["user", "assistant", "tool"]);
    expect(result).toMatchObject({ text: "done", steps: 2 });
  });

  it("core-execution 32: one allowed step and a text answer ends as stopped, after the step has ended", async () => {
    const { events, result, thread } = await runScripted({ turns: [text("only")], spec: { maxSteps: 1 } });
    expect(result.termination).toMatchObject({ type: "stopped", code: "max-steps" });
    expect(lifecycleTypes(events).slice(-2)).toEqual(["step-end", "run-end"]);
    expect(thread.said.map(messageText)).toEqual(["hello", "only"]);
  });

  it("core-execution 33: a stop after the inference executes none of the tools that were asked for, and keeps the text", async () => {
    let ran = 0;
    const tool = defineTool({ id: "count", description: "", input: z.object({}), execute: () => ++ran });
    const { result, thread } = await runScripted({
      turns: [toolCall("count", {}, { say: "let me" })],
      tools: [tool],
      spec: { stopConditions: [{ type: "stop-on-tool", toolName: "count" }] },
    });
    expect(result.termination).toMatchObject({ type: "stopped", code: "stop-on-tool" });
    expect(ran).toBe(0);
    expect(thread.said.map((message) => message.role)).toEqual(["user", "assistant"]);
    expect(thread.said[1]?.content).toEqual([{ type: "text", text: "let me" }]);
  });

  it("core-execution 34: an unknown tool is an error that the model reads, and the loop goes on", async () => {
    const { model, result } = await runScripted({ turns: [toolCall("nope", {}), text("sorry")] });
    const message = model?.requests[1]?.messages.at(-1);
    expect(message).toMatchObject({ role: "tool", status: "error" });
    expect(message === undefined ? "" : messageText(message)).toBe("tool 'nope' not found");
    expect(result.termination.type).toBe("natural-end");
  });

  it("core-execution 35: a run that is aborted before it begins has no step and one terminal event", async () => {
    const signal = AbortSignal.abort();
    const { events, result } = await runScripted({ turns: [], signal });
    expect(result).toMatchObject({ steps: 0, termination: { type: "cancelled" }, status: "done" });
    expect(eventTypes(events).filter((type) => type === "run-end")).toHaveLength(1);
  });

  it("core-execution 36: an abort in the middle of a stream keeps the text and drops the calls, those that came whole too", async () => {
    const controller = new AbortController();
    const ran: string[] = [];
    const pay = defineTool({ id: "pay", description: "", input: z.object({}), execute: () => ran.push("pay") });
    const turn = parts(
      { type: "text-delta", delta: "part" },
      { type: "tool-call-start", id: "whole", name: "pay" },
      { type: "tool-call-delta", id: "whole", delta: "{}" },
      { type: "tool-call-start", id: "half", name: "echo" },
      { type: "tool-call-delta", id: "half", delta: '{"te' },
      { type: "text-delta", delta: " of it" },
    );
    const { events, model, result, thread } = await runScripted({
      turns: [stall(turn, 6), text("never asked for")],
      tools: [echo, pay],
      signal: controller.signal,
      onEvent: (event) => {
        if (event.type === "text-delta" && event.delta === " of it") queueMicrotask(() => controller.abort());
      },
    });
    expect(result).toMatchObject({ termination: { type: "cancelled" }, status: "done", steps: 1, text: "part of it" });
    expect(ran).toEqual([]);
    expect(model?.requests).toHaveLength(1);
    expect(thread.said.slice(1)).toMatchObject([{ role: "assistant", content: [{ type: "text", text: "part of it" }] }]);
    expect(thread.said[1]?.content).toHaveLength(1);
    expect(eventTypes(events).filter((type) => /^tool-call-(ready|end)$/.test(type))).toEqual([]);
    expect(lifecycleTypes(events)).toEqual(["run-start", "step-start", "inference-end", "step-end", "run-end"]);
    const next = await runScripted({ turns: [text("on")], tools: [echo, pay], thread, input: "go on" });
    expect(roles(next.model?.requests[0])).toEqual(["user", "assistant", "user"]);
    expect(ran).toEqual([]);
  });

  it("core-execution 37: an abort during a tool waits for it, records its result, and ends as cancelled", async () => {
    const controller = new AbortController();
    const slow = defineTool({
      id: "slow",
      description: "",
      input: z.object({}),
      execute: async (_input, { signal }) => {
        controller.abort();
        await Promise.resolve();
        return { sawAbort: signal.aborted };
      },
    });
    const { events, result, thread } = await runScripted({ turns: [toolCall("slow", {})], tools: [slow], signal: controller.signal });
    expect(result.termination).toEqual({ type: "cancelled" });
    expect(events.find((event) => event.type === "tool-call-end")).toMatchObject({
      outcome: "succeeded",
      result: { data: { sawAbort: true } },
    });
    expect(thread.said.at(-1)).toMatchObject({ role: "tool", status: "success" });
    expect(lifecycleTypes(events).slice(-2)).toEqual(["step-end", "run-end"]);
  });

  it("a tool that ignores the abort is left behind after the grace time", async () => {
    const controller = new AbortController();
    const clock = fakeClock();
    const stubborn = defineTool({
      id: "stubborn",
      description: "",
      input: z.object({}),
      execute: () => {
        controller.abort();
        return new Promise<never>(() => {});
      },
    });
    const running = runScripted({ turns: [toolCall("stubborn", {})], tools: [stubborn], signal: controller.signal, clock });
    await clock.advance(30_000);
    const { result, thread } = await running;
    expect(result.termination).toEqual({ type: "cancelled" });
    expect(thread.said.at(-1)).toMatchObject({ role: "tool", status: "error" });
    expect(clock.pendingTimers).toBe(0);
  });

  it("core-execution 38: a provider failure in step 2 keeps the commit of step 1 and ends with one error event", async () => {
    const { events, result, thread } = await runScripted({
      turns: [toolCall("echo", { text: "x" }), failure("unauthorized", "no key")],
      tools: [echo],
    });
    expect(result.termination).toMatchObject({ type: "error", code: "inference_unauthorized" });
    expect(result).toMatchObject({ status: "done", steps: 2 });
    expect(thread.commits[1]?.run).toMatchObject({ status: "running", steps: 1 });
    expect(thread.said.map((message) => message.role)).toEqual(["user", "assistant", "tool"]);
    expect(eventTypes(events).filter((type) => type === "run-end")).toHaveLength(1);
  });

  it("core-execution 39: when every call is malformed, the next request says so", async () => {
    const malformed = parts(
      { type: "tool-call-start", id: "c1", name: "echo" },
      { type: "tool-call-delta", id: "c1", delta: '{"text": ' },
      { type: "stop", reason: "end-turn" },
    );
    const { model, result } = await runScripted({ turns: [malformed, text("ok")], tools: [echo] });
    const last = model?.requests[1]?.messages.at(-1);
    expect(last).toMatchObject({ role: "user", visibility: "internal" });
    expect(last === undefined ? "" : messageText(last)).toContain("not valid JSON");
    expect(result.text).toBe("ok");
  });

  it("core-execution 40: the step's override beats the run's beats the agent's, field by field, and is gone in the next step", async () => {
    const once = definePlugin({
      id: "once",
      register(r) {
        r.hook("stepStart", ({ step }) =>
          step === 1 ? command().schedule(setInferenceOverride, { temperature: 0.9, reasoningEffort: "high" }) : undefined,
        );
      },
    });
    const { model } = await runScripted({
      turns: [toolCall("echo", { text: "a" }), text("b")],
      tools: [echo],
      plugins: [once],
      spec: { reasoningEffort: "low" },
      overrides: { temperature: 0.1, topP: 0.5 },
    });
    expect(model?.requests[0]?.overrides).toEqual({ temperature: 0.9, topP: 0.5, reasoningEffort: "high" });
    expect(model?.requests[1]?.overrides).toEqual({ temperature: 0.1, topP: 0.5, reasoningEffort: "low" });
  });

  it("core-execution 41: include-only [a, b] without b offers only a", async () => {
    const named = (id: string) => defineTool({ id, description: "", input: z.object({}), execute: () => null });
    const filter = definePlugin({
      id: "filter",
      register(r) {
        r.hook("stepStart", () => command().schedule(includeOnlyTools, ["a", "b"]).schedule(excludeTool, "b"));
      },
    });
    const { model } = await runScripted({ turns: [text("x")], tools: [named("c"), named("b"), named("a")], plugins: [filter] });
    expect(model?.requests[0]?.tools.map((tool) => tool.id)).toEqual(["a"]);
  });

  it("core-execution 17: two hooks on one exclusive key in beforeInference do not abort the run", async () => {
    const seen: (string | null | undefined)[] = [];
    const writer = (id: string) =>
      definePlugin({
        id,
        register(r) {
          r.hook("beforeInference", ({ state }) => {
            seen.push(state.get(activeAgent));
            return command().update(activeAgent, "agent");
          });
        },
      });
    const { result } = await runScripted({ turns: [text("x")], plugins: [writer("a"), writer("b")] });
    expect(result.termination.type).toBe("natural-end");
    expect(seen).toEqual([undefined, undefined, "agent"]);
  });

  it("core-execution 26: a filter that names another plugin does not take the step limit away", async () => {
    const quiet = definePlugin({ id: "quiet", register() {} });
    const { result } = await runScripted({
      turns: [toolCall("echo", { text: "1" }), toolCall("echo", { text: "2" }), toolCall("echo", { text: "3" })],
      tools: [echo],
      plugins: [quiet],
      spec: { maxSteps: 3, activePlugins: ["quiet"] },
    });
    expect(result.termination).toMatchObject({ type: "stopped", code: "max-steps" });
    expect(result.steps).toBe(3);
  });

  it("a hook ends the run by writing done", async () => {
    const plugin = definePlugin({
      id: "end",
      register(r) {
        r.hook("stepStart", ({ clock }) =>
          command().update(runLifecycle, { type: "done", termination: { type: "behavior-requested" }, at: clock.now() }),
        );
      },
    });
    const { result, events } = await runScripted({ turns: [], plugins: [plugin] });
    expect(result.termination).toEqual({ type: "behavior-requested" });
    expect(lifecycleTypes(events)).toEqual(["run-start", "step-start", "step-end", "run-end"]);
  });

  it("a failing hook ends the run with its error, one terminal event and its runEnd hooks", async () => {
    let ended = 0;
    const plugin = definePlugin({
      id: "bad",
      register(r) {
        r.hook("afterInference", () => {
          throw new Error("boom");
        });
        r.hook("runEnd", ({ termination }) => {
          ended += 1;
          expect(termination.type).toBe("error");
        });
      },
    });
    const { result, events } = await runScripted({ turns: [text("said")], plugins: [plugin] });
    expect(result.termination).toMatchObject({ type: "error", code: "hook_failed" });
    expect(ended).toBe(1);
    expect(lifecycleTypes(events).slice(-2)).toEqual(["step-end", "run-end"]);
  });

  it("hooks after a failed inference are told, and the failure ends the run", async () => {
    const reasons: string[] = [];
    const plugin = definePlugin({
      id: "watch",
      register(r) {
        r.hook("afterInference", ({ turn }) => {
          reasons.push(turn.stopReason);
        });
      },
    });
    const { result } = await runScripted({ turns: [failure("context-overflow")], plugins: [plugin] });
    expect(reasons).toEqual(["error"]);
    expect(result.termination).toMatchObject({ type: "error", code: "inference_context_overflow" });
  });

  it("a call that was lost with the stream is told to the model after the results", async () => {
    const turn = cut(
      toolCalls([
        { name: "echo", input: { text: "kept" }, id: "k" },
        { name: "echo", input: { text: "lost" }, id: "l" },
      ]),
      3,
      new InferenceError({ type: "provider", message: "connection reset" }),
    );
    const { model, events } = await runScripted({ turns: [turn, text("ok")], tools: [echo] });
    const last = model?.requests[1]?.messages.at(-1);
    expect(last === undefined ? "" : messageText(last)).toContain("'echo' was lost");
    expect(eventTypes(events)).toContain("tool-call-cancel");
  });
});

describe("structured output", () => {
  const schema = z.object({ city: z.string(), tempC: z.number() });

  it("gives the checked answer", async () => {
    const { result, model } = await runScripted({ turns: [text('{"city":"Oslo","tempC":21}')], output: schema });
    expect(result.output).toEqual({ city: "Oslo", tempC: 21 });
    expect(model?.requests[0]?.responseFormat?.schema).toMatchObject({ type: "object" });
  });

  it("returns an answer that does not fit to the model", async () => {
    const { result, model } = await runScripted({
      turns: [text("twenty-one"), text('{"city":"Oslo"}'), text('```json\n{"city":"Oslo","tempC":21}\n```')],
      output: schema,
    });
    expect(result).toMatchObject({ output: { city: "Oslo", tempC: 21 }, steps: 3 });
    expect(model?.requests[1]?.messages.at(-1)).toMatchObject({ role: "user", visibility: "internal" });
  });

  it("gives up at the step limit, without an output", async () => {
    const { result } = await runScripted({ turns: [text("no"), text("no")], output: schema, spec: { maxSteps: 2 } });
    expect(result.termination).toMatchObject({ type: "stopped", code: "max-steps" });
    expect(result.output).toBeUndefined();
  });
});
