import { appendFileSync } from "node:fs";
import { trace } from "@opentelemetry/api";
import { NodeTracerProvider, type ReadableSpan, type SpanProcessor } from "@opentelemetry/sdk-trace-node";
import { ask, createRuntime, defineTool, type InferenceRequest } from "awaken";
import { observability, openTelemetry } from "awaken/observability";
import { sqliteStore } from "awaken/sqlite";
import { type ScriptedTurn, type ScriptStep, scripted, text, toolCall, toolCalls } from "awaken/testing";
import * as z from "zod";

// One process in the life of a run that delegates to one that waits and dies. Its spans are on disk at once.

export interface TracedOrder {
  readonly database: string;
  /** The file that spans are written to. */
  readonly spans: string;
  readonly part:
    | { readonly type: "begin"; readonly run: string; readonly dies: boolean }
    | { readonly type: "decide"; readonly ticket: string }
    | { readonly type: "resume"; readonly run: string };
}

/** What a process tells whoever started it. */
export interface Told {
  readonly status: string;
  readonly run: string;
  readonly ticket: string;
}

/** Each is written when it begins, and once more when it ends: of a process that dies, there is what it had begun. */
export interface WrittenSpan {
  readonly isEnded: boolean;
  readonly part: TracedOrder["part"]["type"];
  readonly name: string;
  readonly kind: number;
  readonly trace: string;
  readonly id: string;
  readonly parent: string | undefined;
  readonly links: readonly { readonly id: string; readonly kind: unknown }[];
  readonly attributes: { readonly [name: string]: unknown };
}

const argument = process.argv[2];
if (argument === undefined) throw new Error("what to do is missing");
const { database, spans, part }: TracedOrder = JSON.parse(argument);

function write(span: ReadableSpan, isEnded: boolean): void {
  const { name, kind, attributes, links, parentSpanContext } = span;
  const { traceId, spanId } = span.spanContext();
  const line: WrittenSpan = {
    ...{ isEnded, part: part.type, name, kind, trace: traceId, id: spanId, parent: parentSpanContext?.spanId, attributes },
    links: links.map((link) => ({ id: link.context.spanId, kind: link.attributes?.["awaken.link.kind"] })),
  };
  appendFileSync(spans, `${JSON.stringify(line)}\n`);
}

const processor: SpanProcessor = {
  onStart: (span) => write(span, false),
  onEnd: (span) => write(span, true),
  forceFlush: async () => {},
  shutdown: async () => {},
};
new NodeTracerProvider({ spanProcessors: [processor] }).register();

/** What each of them says depends on the conversation alone: any process may ask. */
const says = (turns: { readonly [last: string]: ScriptedTurn }, first: ScriptedTurn, dies = false) =>
  scripted(
    new Array<ScriptStep>(9).fill(({ messages }: InferenceRequest) => {
      if (dies) process.kill(process.pid, "SIGKILL");
      const last = messages.at(-1);
      return last?.role === "tool" ? (turns[last.toolCallId] ?? text("lost")) : first;
    }),
  );

const lead = says(
  { c1: text("done") },
  toolCalls([
    { name: "look", input: {}, id: "c0" },
    { name: "agent_run_helper", input: { prompt: "help" }, id: "c1" },
  ]),
);
const helper = says(
  { h0: toolCall("dies", {}, { id: "h1" }), h1: text("helped") },
  toolCall("refund", {}, { id: "h0" }),
  part.type === "begin" && part.dies,
);

const input = z.object({});
const runtime = createRuntime({
  providers: { lead, helper },
  models: { fast: { provider: "lead", model: "fast-1" }, small: { provider: "helper", model: "small-1" } },
  agents: {
    lead: { model: "fast", plugins: ["observability"], tools: ["look"], delegates: ["helper"] },
    helper: { model: "small", description: "Refunds", plugins: ["observability"], tools: ["refund", "dies"] },
  },
  tools: [
    defineTool({ id: "look", description: "", input, pure: true, execute: () => "seen" }),
    defineTool({ id: "refund", description: "", input, approve: () => ask("Refund?"), execute: () => "refunded" }),
    defineTool({
      id: "dies",
      description: "",
      input,
      idempotent: true,
      execute() {
        if (part.type === "decide") process.kill(process.pid, "SIGKILL");
        return "survived";
      },
    }),
  ],
  plugins: [observability({ sinks: [openTelemetry()] })],
  store: sqliteStore(database),
});

/** Nobody is told to: whoever works here finds what was left behind. What it asks for is approved. */
async function untilOver(run: string) {
  for (;;) {
    const result = await runtime.wait(run);
    if (result.status !== "waiting") return result;
    for (const { id } of result.tickets) await (await runtime.decide(id, { action: "approve" })).result;
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

async function act() {
  switch (part.type) {
    case "begin":
      return runtime.run({ agent: "lead", thread: "t", input: "go", runId: part.run });
    case "decide":
      return (await runtime.decide(part.ticket, { action: "approve" })).result;
    case "resume":
      return untilOver(part.run);
  }
}

const result = await trace.getTracer("app").startActiveSpan(`caller ${part.type}`, async (span) => {
  try {
    return await act();
  } finally {
    span.end();
  }
});
const ticket = result.status === "waiting" ? (result.tickets[0]?.id ?? "") : "";
process.send?.({ status: result.status, run: result.runId, ticket } satisfies Told);
await runtime.close();
process.disconnect?.();
