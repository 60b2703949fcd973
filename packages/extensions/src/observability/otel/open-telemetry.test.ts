import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { defineTool, type Tool } from "@awaken/runtime";
import { failure, text, toolCall, toolCalls } from "@awaken/runtime/testing";
import { sqliteStore } from "@awaken/stores/sqlite";
import { context, SpanKind, SpanStatusCode, trace } from "@opentelemetry/api";
import { InMemorySpanExporter, NodeTracerProvider, type ReadableSpan, SimpleSpanProcessor } from "@opentelemetry/sdk-trace-node";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import * as z from "zod";
import { openWatched, SECRET } from "../harness.test-support.ts";
import { activeTraceParent, openTelemetry } from "./open-telemetry.ts";
import { fromTraceParent, toTraceParent } from "./trace-parent.ts";

const exporter = new InMemorySpanExporter();
const provider = new NodeTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] });

beforeAll(() => provider.register());
afterAll(async () => {
  await provider.shutdown();
  trace.disable();
  context.disable();
});
beforeEach(() => exporter.reset());

const spans = (): readonly ReadableSpan[] => exporter.getFinishedSpans();
const named = (name: string): ReadableSpan => {
  const found = spans().filter((span) => span.name === name);
  if (found.length !== 1 || found[0] === undefined) throw new Error(`${found.length} spans '${name}': ${spans().map((span) => span.name)}`);
  return found[0];
};
const parentOf = (span: ReadableSpan): string | undefined =>
  spans().find((each) => each.spanContext().spanId === span.parentSpanContext?.spanId)?.name;

/** What the conventions ask of every span of their kind. */
function checkConventions(all: readonly ReadableSpan[]): void {
  for (const { name, kind, attributes } of all) {
    const operation = attributes["gen_ai.operation.name"];
    if (operation === undefined) continue;
    expect(attributes["gen_ai.conversation.id"]).toEqual(expect.any(String));
    expect(attributes["gen_ai.agent.id"]).toEqual(expect.any(String));
    switch (operation) {
      case "invoke_agent":
        expect(name).toBe(`invoke_agent ${attributes["gen_ai.agent.name"]}`);
        expect(kind).toBe(SpanKind.INTERNAL);
        expect(attributes["gen_ai.provider.name"]).toEqual(expect.any(String));
        break;
      case "chat":
        expect(name).toBe(`chat ${attributes["gen_ai.request.model"]}`);
        expect(kind).toBe(SpanKind.CLIENT);
        expect(attributes["gen_ai.provider.name"]).toEqual(expect.any(String));
        break;
      case "execute_tool":
        expect(name).toBe(`execute_tool ${attributes["gen_ai.tool.name"]}`);
        expect(kind).toBe(SpanKind.INTERNAL);
        expect(attributes["gen_ai.tool.type"]).toBe("function");
        expect(attributes["gen_ai.tool.call.id"]).toEqual(expect.any(String));
        break;
      default:
        throw new Error(`no such operation: ${String(operation)}`);
    }
  }
}

/** A tool whose code makes a span, as an instrumented client would. */
const instrumented = defineTool({
  id: "fetch",
  description: "",
  input: z.object({}),
  async execute() {
    await Promise.resolve();
    trace.getTracer("http").startSpan("GET").end();
    return "ok";
  },
});

describe("openTelemetry", () => {
  test("extensions 35: `execute_tool` spans are children of the `chat` span that requested them, which are children of `invoke_agent`.", async () => {
    const calls = [
      { name: "weather", input: { city: "Oslo" } },
      { name: "fail", input: {} },
    ];
    const { runtime } = openWatched([toolCalls(calls), text("done")], [openTelemetry()]);
    const { runId } = await runtime.run({ agent: "assistant", thread: "t", input: "go" });
    const [first, second] = spans().filter(({ name }) => name === "chat gpt-5-mini");
    const root = named("invoke_agent assistant");
    for (const tool of ["weather", "fail"]) {
      expect(named(`execute_tool ${tool}`).parentSpanContext?.spanId).toBe(first?.spanContext().spanId);
    }
    for (const chat of [first, second]) expect(chat?.parentSpanContext?.spanId).toBe(root.spanContext().spanId);
    expect(root.parentSpanContext).toBeUndefined();
    expect(new Set(spans().map((span) => span.spanContext().traceId)).size).toBe(1);
    checkConventions(spans());
    expect(first?.attributes).toMatchObject({
      "gen_ai.response.finish_reasons": ["tool_use"],
      "gen_ai.usage.input_tokens": 10,
      "gen_ai.usage.output_tokens": 5,
      "awaken.step.index": 1,
    });
    expect(root.attributes).toMatchObject({
      "gen_ai.usage.input_tokens": 20,
      "awaken.run.id": runId,
      "awaken.session.inference_count": 2,
      "awaken.session.tool_failures": 1,
      "awaken.root.close_reason": "done",
    });
    expect(root.attributes["awaken.cost.usd"]).toBeCloseTo((20 * 2 + 10 * 10) / 1e6, 12);
    expect(named("execute_tool fail")).toMatchObject({
      status: { code: SpanStatusCode.ERROR },
      attributes: { "error.type": "execution_failed" },
    });
    expect(named("execute_tool weather").status.code).toBe(SpanStatusCode.UNSET);
  });

  test("what a tool and a caller do themselves is in the same trace; a trace parent in the request places the run", async () => {
    const { runtime } = openWatched([toolCall("fetch", {}), text("done"), text("again")], [openTelemetry()], { tools: [instrumented] });
    await trace.getTracer("app").startActiveSpan("request", async (span) => {
      await runtime.run({ agent: "assistant", thread: "t", input: "go" });
      span.end();
    });
    expect(parentOf(named("GET"))).toBe("execute_tool fetch");
    expect(parentOf(named("invoke_agent assistant"))).toBe("request");
    exporter.reset();
    const traceParent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    await runtime.run({ agent: "assistant", thread: "t", input: "go", trace: { traceParent } });
    const { parentSpanContext } = named("invoke_agent assistant");
    expect(parentSpanContext).toMatchObject({ traceId: "0af7651916cd43dd8448eb211c80319c", spanId: "b7ad6b7169203331" });
  });

  test("a run that waited and one that was cut off go on in their trace in another process, linked to where they were", async () => {
    const folder = mkdtempSync(join(tmpdir(), "awaken-otel-"));
    const open = (turns: Parameters<typeof openWatched>[0]) => {
      const store = sqliteStore(join(folder, "a.db"));
      return { store, ...openWatched(turns, [openTelemetry()], { store }) };
    };
    try {
      const first = open([toolCall("refund", { amount: 3 }, { id: "c1" })]);
      const waiting = await trace.getTracer("app").startActiveSpan("request", async (span) => {
        const result = await first.runtime.run({ agent: "assistant", thread: "t", input: "go" });
        span.end();
        return result;
      });
      if (waiting.status !== "waiting") throw new Error(waiting.status);
      await first.runtime.close();
      await first.store.close();
      const request = named("request");
      const before = named("invoke_agent assistant");
      expect(named("awaken.suspension").attributes).toMatchObject({ "awaken.suspension.action": "suspended", "gen_ai.tool.call.id": "c1" });
      exporter.reset();
      const second = open([text("done")]);
      const run = await trace.getTracer("app").startActiveSpan("decide", async (span) => {
        const decided = await second.runtime.decide(waiting.tickets[0]?.id ?? "", { action: "approve" });
        span.end();
        return decided;
      });
      expect(await run.result).toMatchObject({ status: "done" });
      const after = named("invoke_agent assistant");
      expect(after.spanContext().traceId).toBe(before.spanContext().traceId);
      expect(after.parentSpanContext?.spanId).toBe(request.spanContext().spanId);
      expect(after.links.map((link) => [link.context.spanId, link.attributes?.["awaken.link.kind"]])).toEqual([
        [before.spanContext().spanId, "previous-activation"],
        [named("decide").spanContext().spanId, "caller"],
      ]);
      const replayed = named("execute_tool refund");
      expect(parentOf(replayed)).toBe("invoke_agent assistant");
      expect(replayed.attributes["awaken.tool.synthetic_parent"]).toBe(true);
      expect(named("awaken.suspension").attributes).toMatchObject({
        "awaken.suspension.action": "resumed",
        "awaken.suspension.resume_mode": "resume",
      });
      expect(after.attributes).toMatchObject({ "awaken.run.id": waiting.runId, "awaken.run.resumed": true });
      checkConventions(spans());
      await second.runtime.close();
      await second.store.close();
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });

  test("a run that a tool starts is below the call that started it", async () => {
    let started: (() => Promise<unknown>) | undefined;
    const delegate: Tool = defineTool({
      id: "agent_run_refunds",
      description: "",
      input: z.object({}),
      execute: async () => {
        await started?.();
        return "done";
      },
    });
    const { runtime } = openWatched([toolCall("agent_run_refunds", {}, { id: "c1" }), text("child"), text("lead")], [openTelemetry()], {
      agents: { lead: { model: "fast", plugins: ["observability"] }, refunds: { model: "fast", plugins: ["observability"] } },
      tools: [delegate],
    });
    started = () =>
      runtime.run({
        agent: "refunds",
        thread: "child",
        input: "go",
        trace: { origin: "subagent", parentRunId: "root", parentToolCallId: "c1" },
      });
    await runtime.run({ agent: "lead", thread: "t", input: "go", runId: "root" });
    expect(parentOf(named("invoke_agent refunds"))).toBe("execute_tool agent_run_refunds");
    expect(named("invoke_agent refunds").attributes).toMatchObject({ "awaken.parent_run.id": "root", "awaken.parent_tool.call_id": "c1" });
  });

  test("secrets and conversations are in no span, whatever fails; on request, what was said is, redacted", async () => {
    const script = () => [
      toolCalls([
        { name: "weather", input: { city: "Oslo", apiKey: SECRET } },
        { name: "fail", input: {} },
      ]),
      failure("unauthorized", `the key ${SECRET} is wrong`),
    ];
    await openWatched(script(), [openTelemetry()]).runtime.run({ agent: "assistant", thread: "t", input: `I am ${SECRET}` });
    const dump = () => JSON.stringify(spans().map(({ name, attributes, events, status }) => ({ name, attributes, events, status })));
    for (const said of [SECRET, "Oslo", "Be brief"]) expect(dump()).not.toContain(said);
    expect(named("invoke_agent assistant").status.code).toBe(SpanStatusCode.ERROR);
    exporter.reset();
    const options = { capture: { tools: "arguments" as const } };
    await openWatched(script(), [openTelemetry()], { options }).runtime.run({ agent: "assistant", thread: "t", input: "hi" });
    expect(named("execute_tool weather").attributes["gen_ai.tool.call.arguments"]).toBe('{"city":"Oslo","apiKey":"***"}');
    expect(dump()).not.toContain(SECRET);
  });

  test("a trace parent is read and written as the W3C form; what is none is ignored", async () => {
    const header = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    const read = fromTraceParent(header);
    if (read === undefined) throw new Error("not read");
    expect(toTraceParent(read)).toBe(header);
    for (const bad of [
      undefined,
      "",
      "x",
      header.replace("00-", "ff-"),
      header.replace(/[\da-f]{32}/, "0".repeat(32)),
      header.toUpperCase(),
    ]) {
      expect(fromTraceParent(bad)).toBeUndefined();
    }
    expect(await activeTraceParent()).toBeUndefined();
    await trace.getTracer("app").startActiveSpan("request", async (span) => {
      expect(await activeTraceParent()).toBe(toTraceParent(span.spanContext()));
    });
  });
});
