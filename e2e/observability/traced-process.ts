import { appendFileSync } from "node:fs";
import { trace } from "@opentelemetry/api";
import { NodeTracerProvider, type ReadableSpan, SimpleSpanProcessor } from "@opentelemetry/sdk-trace-node";
import { ask, createRuntime, defineTool } from "awaken";
import { observability, openTelemetry } from "awaken/observability";
import { sqliteStore } from "awaken/sqlite";
import { scripted, text, toolCall, toolCalls } from "awaken/testing";
import * as z from "zod";

// One process in the life of a run that waits, dies and delegates. Its spans are on disk as soon as they end.

export interface TracedOrder {
  readonly database: string;
  /** The file that spans are written to. */
  readonly spans: string;
  readonly part:
    | { readonly type: "begin" }
    | { readonly type: "decide"; readonly ticket: string }
    | { readonly type: "resume"; readonly run: string };
}

/** What a process tells whoever started it. */
export interface Told {
  readonly status: string;
  readonly run: string;
  readonly ticket: string;
}

export interface WrittenSpan {
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

function written(span: ReadableSpan): WrittenSpan {
  const { name, kind, attributes, links, parentSpanContext } = span;
  const { traceId, spanId } = span.spanContext();
  return {
    ...{ part: part.type, name, kind, trace: traceId, id: spanId, parent: parentSpanContext?.spanId, attributes },
    links: links.map((link) => ({ id: link.context.spanId, kind: link.attributes?.["awaken.link.kind"] })),
  };
}

const exporter = {
  export(ended: ReadableSpan[], done: (result: { code: number }) => void) {
    for (const span of ended) appendFileSync(spans, `${JSON.stringify(written(span))}\n`);
    done({ code: 0 });
  },
  shutdown: async () => {},
};
new NodeTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] }).register();

const SCRIPTS = {
  begin: [
    toolCalls([
      { name: "look", input: {}, id: "c0" },
      { name: "refund", input: {}, id: "c1" },
    ]),
  ],
  decide: [toolCall("dies", {}, { id: "c2" })],
  resume: [toolCall("agent_run_helper", {}, { id: "c3" }), text("helped"), text("done")],
};

const input = z.object({});
const runtime = createRuntime({
  providers: { house: scripted(SCRIPTS[part.type]) },
  models: { fast: { provider: "house", model: "fast-1" } },
  agents: {
    lead: { model: "fast", plugins: ["observability"] },
    helper: { model: "fast", plugins: ["observability"], tools: [] },
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
    defineTool({
      id: "agent_run_helper",
      description: "",
      input,
      async execute(_, { identity, callId }) {
        const origin = { origin: "subagent", parentRunId: identity.runId, parentToolCallId: callId } as const;
        const { status } = await runtime.run({ agent: "helper", thread: "child", input: "help", trace: origin });
        return status;
      },
    }),
  ],
  plugins: [observability({ sinks: [openTelemetry()] })],
  store: sqliteStore(database),
});

async function act() {
  switch (part.type) {
    case "begin":
      return runtime.run({ agent: "lead", thread: "t", input: "go" });
    case "decide":
      return (await runtime.decide(part.ticket, { action: "approve" })).result;
    case "resume":
      return runtime.resume(part.run);
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
