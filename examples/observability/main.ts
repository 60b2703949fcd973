// A run with an approval, as OpenTelemetry sees it: the spans are printed here instead of being sent to a collector.
import { NodeTracerProvider, type ReadableSpan, SimpleSpanProcessor, type SpanExporter } from "@opentelemetry/sdk-trace-node";
import { ask, createRuntime, defineTool } from "awaken";
import { observability, openTelemetry, runtimeStats } from "awaken/observability";
import { scripted, text, toolCall } from "awaken/testing";
import * as z from "zod";

/** Yours is `OTLPTraceExporter`, or none at all: the SDK reads `OTEL_EXPORTER_OTLP_ENDPOINT`. */
const printing: SpanExporter = {
  export(spans: ReadableSpan[], done) {
    for (const { name, attributes, links } of spans) {
      const facts = ["gen_ai.usage.input_tokens", "awaken.cost.usd", "awaken.suspension.action", "awaken.root.close_reason"];
      const shown = (value: unknown) => (typeof value === "number" ? Number(value.toFixed(6)) : value);
      const told = facts.flatMap((fact) => (attributes[fact] === undefined ? [] : [`${fact}=${shown(attributes[fact])}`]));
      console.log([name, ...told, ...(links.length > 0 ? ["linked"] : [])].join(" "));
    }
    done({ code: 0 });
  },
  shutdown: async () => {},
};
const provider = new NodeTracerProvider({ spanProcessors: [new SimpleSpanProcessor(printing)] });
provider.register();

const refund = defineTool({
  id: "refund",
  description: "Refund an order",
  input: z.object({ amount: z.number() }),
  approve: ({ amount }) => ask(`Refund ${amount}?`),
  execute: ({ amount }) => ({ refunded: amount }),
});

const stats = runtimeStats();
const runtime = createRuntime({
  providers: { demo: scripted([toolCall("refund", { amount: 90 }), text("Done.")]) },
  models: { fast: { provider: "demo", model: "demo-1", inputTokenPricePerMillionUsd: 2, outputTokenPricePerMillionUsd: 10 } },
  agents: { support: { model: "fast", plugins: ["observability"] } },
  tools: [refund],
  plugins: [observability({ sinks: [openTelemetry(), stats] })],
});

const first = await runtime.run({ agent: "support", thread: "t1", input: "Refund order 7" });
if (first.status !== "waiting") throw new Error(`expected an approval, got ${first.status}`);
const [ticket] = first.tickets;
if (ticket === undefined) throw new Error("a run that waits has a ticket");
const run = await runtime.decide(ticket.id, { action: "approve" });
await run.result;
const { inferenceCount, suspensions, toolCallsByTool } = stats.snapshot("support", "1h");
console.log(`${inferenceCount} answers, ${suspensions} wait, ${toolCallsByTool.map(({ tool, callCount }) => `${tool} ${callCount}`)}`);
await runtime.close();
await provider.shutdown();
