import { readFileSync } from "node:fs";
import type { AgentEvent, ToolResult } from "@awaken/contract";
import { type AroundFacts, activeAgent, command, definePlugin, defineTool, deny, reply, setInferenceOverride } from "@awaken/runtime";
import { failure, fakeClock, parts, scripted, text, toolCall, toolCalls } from "@awaken/runtime/testing";
import { memoryStore } from "@awaken/stores/memory";
import { describe, expect, test } from "vitest";
import * as z from "zod";
import { skillRecords } from "../skills/skill-records.ts";
import { skills } from "../skills/skills.ts";
import { Capture } from "./capture.ts";
import { contentId } from "./content-ids.ts";
import type { TelemetryEvent } from "./events.ts";
import { openWatched, SECRET } from "./harness.test-support.ts";
import { memorySink } from "./memory-sink.ts";
import { observability } from "./observability.ts";
import { RunRecorder } from "./run-recorder.ts";
import { type Sink, Sinks } from "./sink.ts";

const handoff = defineTool({
  id: "handoff",
  description: "",
  input: z.object({ agent: z.string() }),
  execute: ({ agent }) => reply("gone", { command: command().update(activeAgent, agent) }),
});

type Of<T extends TelemetryEvent["type"]> = Extract<TelemetryEvent, { type: T }>;

const only = <T extends TelemetryEvent["type"]>(events: readonly TelemetryEvent[], type: T): readonly Of<T>[] =>
  events.filter((event): event is Of<T> => event.type === type);

/** Calls of one turn end when they end. */
const calls = (events: readonly TelemetryEvent[]) => only(events, "tool").toSorted((a, b) => (a.callId < b.callId ? -1 : 1));

const named = { type: "response", id: "resp-7", model: "gpt-5-mini-2026-08" } as const;

describe("what sinks are told of a run", () => {
  test("inferences with tokens, cost and the vendor's names, tools with their outcome, and the whole", async () => {
    const sink = memorySink();
    const turns = [
      toolCalls([
        { name: "weather", input: { city: "Oslo" }, id: "c1" },
        { name: "fail", input: {}, id: "c2" },
      ]),
      parts(
        named,
        { type: "text-delta", delta: "21" },
        { type: "usage", usage: { inputTokens: 100, outputTokens: 50, totalTokens: 150 } },
        { type: "stop", reason: "end-turn" },
      ),
    ];
    const release = { tag: "v7", experimentId: "e", variantName: "b" };
    const { runtime } = openWatched(turns, [sink], { options: { release } });
    const { runId } = await runtime.run({ agent: "assistant", thread: "t", input: "go", overrides: { temperature: 0.5, maxTokens: 99 } });
    const [first, second] = only(sink.events, "inference");
    expect(first).toMatchObject({
      step: 1,
      provider: "openai",
      model: "gpt-5-mini",
      finishReason: "tool-use",
      temperature: 0.5,
      maxTokens: 99,
    });
    expect(second).toMatchObject({ step: 2, responseId: "resp-7", responseModel: "gpt-5-mini-2026-08", finishReason: "end-turn" });
    expect(second?.costUsd).toBeCloseTo((100 * 2 + 50 * 10) / 1e6, 12);
    expect(calls(sink.events)).toMatchObject([
      { name: "weather", callId: "c1", step: 1 },
      { name: "fail", callId: "c2", step: 1, errorType: "tool_error", errorClass: "execution_failed" },
    ]);
    expect(calls(sink.events)[0]).not.toHaveProperty("errorType");
    expect(only(sink.events, "run")).toMatchObject([
      { outcome: "done", inferences: 2, tools: 2, toolFailures: 1, usage: { inputTokens: 110 } },
    ]);
    const { context } = second ?? {};
    expect(context).toMatchObject({ runId, threadId: "t", agentId: "assistant", releaseTag: "v7", experimentId: "e", variantName: "b" });
    expect(context?.promptId).toBe(contentId("assistant", "system", "Be brief."));
    expect(context?.toolDescIds).toHaveLength(3);
    expect(contentId("a", "b")).toMatch(/^[\da-f]{12}$/);
  });

  test("extensions 31: Two concurrent runs of one plugin instance produce disjoint events with correct step indices.", async () => {
    const sink = memorySink();
    const model = ({ messages }: { readonly messages: readonly { readonly role: string }[] }) =>
      messages.filter(({ role }) => role === "tool").length < 3 ? toolCall("weather", { city: "Oslo" }) : text("done");
    const { runtime } = openWatched(
      Array.from({ length: 8 }, () => model),
      [sink],
    );
    const runs = await Promise.all(["a", "b"].map((thread) => runtime.run({ agent: "assistant", thread, input: "go" })));
    for (const { runId } of runs) {
      const own = sink.events.filter(({ context }) => context.runId === runId);
      expect(only(own, "inference").map(({ step }) => step)).toEqual([1, 2, 3, 4]);
      expect(only(own, "tool").map(({ step }) => step)).toEqual([1, 2, 3]);
      expect(only(own, "run")).toMatchObject([{ inferences: 4, tools: 3 }]);
    }
    expect(new Set(sink.events.map(({ context }) => context.runId)).size).toBe(2);
  });

  test("extensions 32: The model label follows a pool switch or step override.", async () => {
    const sink = memorySink();
    const { runtime } = openWatched([], [sink], {
      providers: { down: scripted([failure("unauthorized")]), up: scripted([text("hi")]), house: scripted([text("a"), text("b")]) },
      models: {
        a: { provider: "down", model: "small" },
        b: { provider: "up", model: "big", inputTokenPricePerMillionUsd: 1, outputTokenPricePerMillionUsd: 1 },
        c: { provider: "house", model: "plain", inputTokenPricePerMillionUsd: 1, outputTokenPricePerMillionUsd: 1 },
      },
      pools: { pool: { members: [{ model: "a" }, { model: "b", role: "failover-only" }] } },
      agents: { pooled: { model: "pool", plugins: ["observability"] }, single: { model: "c", plugins: ["observability", "other"] } },
      others: [
        definePlugin({
          id: "other",
          register: (r) =>
            r.hook("beforeInference", ({ messages }) =>
              messages.length === 1 ? command().schedule(setInferenceOverride, { upstreamModel: "special" }) : undefined,
            ),
        }),
      ],
    });
    await runtime.run({ agent: "pooled", thread: "t", input: "go" });
    expect(only(sink.events, "inference")).toMatchObject([{ provider: "up", model: "big", costUsd: expect.closeTo(15 / 1e6, 12) }]);
    sink.clear();
    await runtime.run({ agent: "single", thread: "s", input: "go" });
    await runtime.run({ agent: "single", thread: "s", input: "again" });
    const [special, plain] = only(sink.events, "inference");
    expect(special).toMatchObject({ provider: "house", model: "special" });
    expect(special).not.toHaveProperty("costUsd");
    expect(plain).toMatchObject({ model: "plain", costUsd: expect.closeTo(15 / 1e6, 12) });
  });

  test("calls that a gate refuses are told, with no time of their own; a failed inference says why", async () => {
    const sink = memorySink();
    const gate = definePlugin({ id: "gate", register: (r) => r.gate(({ call }) => (call.name === "fail" ? deny("no") : undefined)) });
    const { runtime } = openWatched([toolCall("fail", {}), failure("unauthorized", `the key ${SECRET} is wrong`)], [sink], {
      others: [gate],
    });
    expect(await runtime.run({ agent: "assistant", input: "go" })).toMatchObject({ status: "failed" });
    expect(only(sink.events, "tool")).toMatchObject([{ name: "fail", errorType: "tool_error", errorClass: "denied", durationMs: 0 }]);
    expect(only(sink.events, "inference")[1]).toMatchObject({ errorType: "unauthorized", errorClass: "permanent" });
    expect(only(sink.events, "run")).toMatchObject([{ outcome: "failed", errorType: "inference_unauthorized" }]);
    expect(JSON.stringify(sink.events)).not.toContain(SECRET);
  });

  test("waits are told when they begin and when they end, also after a restart", async () => {
    const [before, after, store, clock] = [memorySink(), memorySink(), memoryStore(), fakeClock(1000)];
    const { runtime } = openWatched([toolCall("refund", { amount: 3 }, { id: "c1" })], [before], { store, clock });
    const first = await runtime.run({ agent: "assistant", thread: "t", input: "go" });
    if (first.status !== "waiting") throw new Error(first.status);
    await runtime.close();
    await clock.advance(60_000);
    const { runtime: other } = openWatched([text("done")], [after], { store, clock });
    const run = await other.decide(first.tickets[0]?.id ?? "", { action: "approve" });
    expect(await run.result).toMatchObject({ status: "done" });
    expect(only(before.events, "suspension")).toMatchObject([{ action: "suspended", toolCallId: "c1", toolName: "refund" }]);
    expect(only(before.events, "run")).toMatchObject([{ outcome: "waiting" }]);
    expect(only(after.events, "suspension")).toMatchObject([{ action: "resumed", resumeMode: "resume", durationMs: 60_000 }]);
    expect(only(after.events, "tool")).toMatchObject([{ name: "refund", callId: "c1" }]);
    expect(only(after.events, "run")).toMatchObject([{ outcome: "done", inferences: 1 }]);
  });

  test("a handoff ends one agent's part and begins the other's", async () => {
    const sink = memorySink();
    const { runtime } = openWatched([toolCall("handoff", { agent: "second" }), text("here")], [sink], {
      agents: {
        assistant: { model: "fast", plugins: ["observability"] },
        second: { model: "fast", plugins: ["observability"] },
      },
      tools: [handoff],
    });
    expect(await runtime.run({ agent: "assistant", input: "go" })).toMatchObject({ status: "done", text: "here" });
    expect(only(sink.events, "handoff")).toMatchObject([{ fromAgentId: "assistant", toAgentId: "second" }]);
    expect(only(sink.events, "run").map(({ outcome, context }) => [context.agentId, outcome])).toEqual([
      ["assistant", "handoff"],
      ["second", "done"],
    ]);
    expect(only(sink.events, "inference").map(({ context, step }) => [context.agentId, step])).toEqual([
      ["assistant", 1],
      ["second", 2],
    ]);
  });
});

describe("what leaves the process", () => {
  const turns = () => [
    toolCalls([
      { name: "weather", input: { city: "Oslo", Authorization: SECRET, headers: [{ "x-api-key": SECRET }] }, id: "c1" },
      { name: "weather", input: { city: "x".repeat(9000) }, id: "c2" },
      { name: "fail", input: {}, id: "c3" },
    ]),
    text("The answer is 21."),
  ];

  test("extensions 33: A tool argument key `Authorization` or `x-api-key` is recorded as `***`; a payload over 8192 bytes becomes the truncation object.", async () => {
    const sink = memorySink();
    const { runtime } = openWatched(turns(), [sink], { options: { capture: { tools: "arguments-and-results" } } });
    await runtime.run({ agent: "assistant", input: "go" });
    const [first, second] = calls(sink.events);
    expect(first?.arguments).toEqual({ city: "Oslo", Authorization: "***", headers: [{ "x-api-key": "***" }] });
    expect(first?.result).toEqual({ city: "Oslo", tempC: 21, sessionToken: "***" });
    const bytes = JSON.stringify({ city: "x".repeat(9000) }).length;
    expect(second?.arguments).toEqual({ __awaken_payload_truncated: true, original_size_bytes: bytes, max_payload_bytes: 8192 });
  });

  test("extensions 34: With content capture disabled no prompt, response, argument or result text appears in any sink.", async () => {
    const sink = memorySink();
    const { runtime } = openWatched(turns(), [sink]);
    await runtime.run({ agent: "assistant", thread: "t", input: "What is the weather like?" });
    const all = JSON.stringify(sink.events);
    for (const said of ["Be brief", "weather like", "Oslo", "The answer", "xxxx", "tempC", SECRET]) expect(all).not.toContain(said);
    expect(only(sink.events, "tool")).toHaveLength(3);
  });

  test("messages are captured on request: answers with their calls, the prompt of the first step, and a redactor sees all of it", async () => {
    const sink = memorySink();
    const seen: string[] = [];
    const capture = {
      messages: true,
      tools: "results" as const,
      onlyTools: ["fail"],
      redact: (value: unknown, { kind }: { kind: string }) => {
        seen.push(kind);
        return JSON.parse(JSON.stringify(value).replaceAll(SECRET, "#"));
      },
    };
    const { runtime } = openWatched(turns(), [sink], { options: { capture } });
    await runtime.run({ agent: "assistant", thread: "t", input: `my word is ${SECRET}` });
    const [first, second] = only(sink.events, "inference");
    expect(first?.requestMessages).toMatchObject([{ role: "user", content: [{ text: "my word is #" }] }]);
    expect(JSON.stringify(first?.responseToolCalls)).toContain("__awaken_payload_truncated");
    expect(second?.responseContent).toEqual([{ type: "text", text: "The answer is 21." }]);
    expect(second).not.toHaveProperty("requestMessages");
    expect(calls(sink.events).map(({ result }) => result)).toEqual([undefined, undefined, { error: expect.stringContaining("#") }]);
    expect(new Set(seen)).toEqual(new Set(["request", "response", "tool-result"]));
    expect(JSON.stringify(sink.events)).not.toContain(SECRET);
  });

  test("what a redactor throws at is left out", async () => {
    const sink = memorySink();
    const redact = () => {
      throw new Error("cannot");
    };
    const { runtime } = openWatched(turns(), [sink], { options: { capture: { tools: "arguments", redact } } });
    await runtime.run({ agent: "assistant", input: "go" });
    expect(only(sink.events, "tool").every((event) => event.arguments === undefined)).toBe(true);
  });

  test("a redactor that gives null hides the value, and one that gives nothing leaves it out", async () => {
    for (const given of [null, undefined]) {
      const sink = memorySink();
      const capture = {
        messages: true,
        tools: "arguments-and-results" as const,
        redact: () => JSON.parse("[null]")[given === null ? 0 : 1],
      };
      const { runtime } = openWatched(turns(), [sink], { options: { capture } });
      await runtime.run({ agent: "assistant", input: `my word is ${SECRET}` });
      expect(JSON.stringify(sink.events)).not.toContain(SECRET);
      const weather = only(sink.events, "tool").find(({ name }) => name === "weather");
      expect([weather?.arguments, weather?.result]).toEqual([given, given]);
    }
  });
});

test("every event of a step has the ids of the skills that are active in it, whatever they were activated with", async () => {
  const record = { description: "Writes", instructions: `Write about $${"{topic}"}.` };
  const plugins = skills({ sources: [skillRecords({ writing: record, reading: { ...record, description: "Reads" } })] });
  const script = (topic: string) => [
    toolCalls([{ name: "skill", input: { skill: "writing", arguments: { topic } } }]),
    toolCalls([
      { name: "skill", input: { skill: "reading" } },
      { name: "weather", input: { city: "Oslo" } },
    ]),
    text("done"),
  ];
  const seen = async (topic: string) => {
    const sink = memorySink();
    const { runtime } = openWatched(script(topic), [sink], { others: plugins });
    expect(await runtime.run({ agent: "assistant", input: "go" })).toMatchObject({ status: "done" });
    return {
      inferences: only(sink.events, "inference").map(({ context }) => context.skillIds.length),
      tools: only(sink.events, "tool").map(({ name, context }) => `${name} ${context.skillIds.length}`),
      atEnd: only(sink.events, "run")[0]?.context.skillIds,
    };
  };
  const first = await seen("sea");
  expect(first.inferences).toEqual([0, 1, 2]);
  expect(first.tools).toContain("weather 1");
  expect(first.atEnd).toEqual([expect.stringMatching(/^[\da-f]{12}$/), expect.stringMatching(/^[\da-f]{12}$/)]);
  expect((await seen("land")).atEnd).toEqual(first.atEnd);
});

test("extensions 37: A throwing sink neither fails the run nor starves other sinks.", async () => {
  const boom = () => {
    throw new Error("boom");
  };
  const sink = memorySink();
  const following: Sink = {
    name: "half",
    record: boom,
    follow: () => ({
      span: undefined,
      root: undefined,
      begin: () => ({ inside: boom, retry: boom, end: boom }),
      record: boom,
      skip: boom,
      end: boom,
    }),
    flush: () => Promise.reject(new Error("boom")),
  };
  const bad: Sink[] = [{ name: "plain", record: boom }, { name: "deaf", record: boom, follow: boom }, following];
  const { runtime, errors } = openWatched([toolCall("weather", { city: "Oslo" }), text("done")], [...bad, sink]);
  expect(await runtime.run({ agent: "assistant", input: "go" })).toMatchObject({ status: "done", text: "done" });
  await runtime.close();
  expect(sink.events.map(({ type }) => type)).toEqual(["inference", "tool", "inference", "run"]);
  for (const name of ["plain", "deaf", "half"]) expect(errors).toContain(`telemetry sink '${name}' failed: boom`);
});

test("a sink that fails later, against its contract, fails neither the run nor the process", async () => {
  const away = async () => {
    await Promise.resolve();
    throw new Error("away");
  };
  const following: Sink = {
    name: "late follower",
    record: away,
    follow: () => ({
      span: undefined,
      root: undefined,
      begin: () => ({ inside: (work) => work(), retry: away, end: away }),
      record: away,
      skip: away,
      end: away,
    }),
  };
  const { runtime, errors } = openWatched([toolCall("nobody", {}), text("done")], [{ name: "late", record: away }, following]);
  expect(await runtime.run({ agent: "assistant", input: "go" })).toMatchObject({ status: "done", text: "done" });
  await runtime.close();
  for (const name of ["late", "late follower"]) expect(errors).toContain(`telemetry sink '${name}' failed: away`);
});

test("a call whose result comes after its run was over is told once, as one without a result", async () => {
  const sink = memorySink();
  const context = { runId: "r", threadId: "t", agentId: "a", toolDescIds: [], skillIds: [] };
  const opening = { context, at: 0, isContinuation: false, traceParent: undefined, previous: undefined };
  const recorder = new RunRecorder({
    ...{ sinks: new Sinks([sink]), capture: new Capture(), clock: fakeClock(5), opening, waitingSince: undefined, skillIds: () => [] },
  });
  const late = Promise.withResolvers<ToolResult>();
  const facts: AroundFacts["tool"][] = [];
  const catching = definePlugin({ id: "catching", register: (r) => r.around("tool", (each) => void facts.push(each)) });
  await openWatched([toolCall("weather", { city: "Oslo" }), text("done")], [], { others: [catching] }).runtime.run({
    agent: "assistant",
    input: "go",
  });
  const [call] = facts;
  if (call === undefined) throw new Error("no call");
  recorder.tool(call, () => late.promise);
  recorder.end("cancelled");
  late.resolve({ type: "success", data: "too late" });
  await late.promise;
  await Promise.resolve();
  expect(sink.events).toMatchObject([
    { type: "tool", errorType: "missing_tool_result" },
    { type: "run", outcome: "cancelled", tools: 1, toolFailures: 1 },
  ]);
});

test("children are told from the events of their parent, with the call that they answer", () => {
  const path = import.meta.resolve("../../../contract/golden/child-with-approval.json");
  const golden: { readonly activations: readonly (readonly AgentEvent[])[] } = JSON.parse(readFileSync(new URL(path), "utf8"));
  const child = golden.activations.flat().find((event) => event.type === "child-start");
  const root = golden.activations.flat().find((event) => event.type === "run-start");
  const sink = memorySink();
  const context = { runId: root?.runId ?? "", threadId: "t", agentId: "assistant", toolDescIds: [], skillIds: [] };
  for (const [index, events] of golden.activations.entries()) {
    const opening = { context, at: 0, isContinuation: index > 0, traceParent: undefined, previous: undefined };
    const recorder = new RunRecorder({
      sinks: new Sinks([sink]),
      capture: new Capture(),
      clock: fakeClock(5),
      opening,
      waitingSince: 2,
      skillIds: () => [],
    });
    for (const event of events) recorder.listen(event);
  }
  expect(only(sink.events, "delegation")).toMatchObject([
    { childRunId: child?.runId, targetAgentId: "refunds", toolCallId: "c1", success: true },
  ]);
  expect(only(sink.events, "suspension").filter(({ action }) => action === "suspended")).toEqual([]);
  expect(only(sink.events, "run").map(({ outcome }) => outcome)).toEqual(["waiting", "done"]);
});

test("without sinks it says what it wants", () => {
  expect(() => Reflect.apply(observability, undefined, [{}])).toThrow("observability({ sinks: [openTelemetry()] })");
});
