// What observability costs on W2 (ten tool steps and a text). Subjects take turns in one process, so that what else the machine does hits
// all of them alike; the figures are ratios of processor time to the runtime without the plugin.
//
//   npx node --conditions=awaken-source --expose-gc bench/observability.ts [rounds]

import type { Message, Provider, StreamPart } from "@awaken/contract";
import { observability, openTelemetry, prometheus, runtimeStats, type Sink } from "@awaken/extensions/observability";
import { createRuntime, defineTool, type Plugin } from "@awaken/runtime";
import { memoryStore } from "@awaken/stores/memory";
import { InMemorySpanExporter, NodeTracerProvider, SimpleSpanProcessor } from "@opentelemetry/sdk-trace-node";
import * as z from "zod";
import { createScenario, echo, INSTRUCTIONS, playChecked, type Scenario, TOOL, USER } from "./field/scenario.ts";
import { median } from "./field/statistics.ts";

const ROUNDS = Number(process.argv[2] ?? 40);
const RUNS = 60;

function countResults(messages: readonly Message[]): number {
  let results = 0;
  for (let index = messages.length - 1; messages[index]?.role !== "user"; index--) if (messages[index]?.role === "tool") results++;
  return results;
}

async function* answer(scenario: Scenario, messages: readonly Message[]): AsyncGenerator<StreamPart> {
  const reply = scenario.reply(countResults(messages));
  if (reply.type === "text") for (const delta of reply.deltas) yield { type: "text-delta", delta };
  else {
    for (const { id, name, input } of reply.calls) {
      yield { type: "tool-call-start", id, name };
      yield { type: "tool-call-delta", id, delta: JSON.stringify(input) };
    }
  }
  yield { type: "stop", reason: reply.type === "text" ? "end-turn" : "tool-use" };
}

function open(scenario: Scenario, plugins: readonly Plugin[]): () => Promise<void> {
  const provider: Provider = { name: "scripted", stream: ({ messages }) => answer(scenario, messages) };
  const tool = defineTool({
    id: TOOL.name,
    description: TOOL.description,
    input: z.strictObject({ text: z.string(), n: z.number() }),
    pure: true,
    execute: async (input) => echo(input),
  });
  const create = () =>
    createRuntime({
      providers: { scripted: provider },
      models: { fast: { provider: "scripted", model: "scripted-1" } },
      agents: { assistant: { model: "fast", instructions: INSTRUCTIONS, maxSteps: 64, plugins: plugins.map(({ id }) => id) } },
      tools: [tool],
      plugins,
      store: memoryStore(),
    });
  return async () => {
    // Finished runs stay in the store, so each round has its own.
    const runtime = create();
    await runtime.initialize();
    const play = async () => {
      let text = "";
      let deltas = 0;
      for await (const event of runtime.stream({ agent: "assistant", input: USER })) {
        if (event.type !== "text-delta") continue;
        text += event.delta;
        deltas += 1;
      }
      return { text, deltas };
    };
    for (let run = 0; run < RUNS; run++) await playChecked(scenario, 1, play);
  };
}

const exporter = new InMemorySpanExporter();
const sdk = new NodeTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] });
const nothing: Sink = { name: "nothing", record() {} };
const watched = (...sinks: readonly Sink[]): readonly Plugin[] => [observability({ sinks })];

const SUBJECTS: readonly (readonly [name: string, plugins: readonly Plugin[]])[] = [
  ["not installed", []],
  ["not installed, again", []],
  ["a sink that does nothing", watched(nothing)],
  ["openTelemetry() without an SDK", watched(openTelemetry())],
  ["prometheus()", watched(prometheus())],
  ["runtimeStats()", watched(runtimeStats())],
  ["openTelemetry() with the SDK", watched(openTelemetry({ tracerProvider: sdk }))],
];

const scenario = createScenario(10, 1, 20);
const subjects = SUBJECTS.map(([name, plugins]) => ({ name, play: open(scenario, plugins), ratios: [] as number[] }));

function cpuUs(): number {
  const { user, system } = process.threadCpuUsage();
  return user + system;
}

async function timed(play: () => Promise<void>): Promise<number> {
  globalThis.gc?.();
  const start = cpuUs();
  await play();
  exporter.reset();
  return (cpuUs() - start) / RUNS;
}

for (const { play } of subjects) for (let warm = 0; warm < 5; warm++) await timed(play);
const base: number[] = [];
for (let round = 0; round < ROUNDS; round++) {
  const order = subjects.map((_, index) => subjects[(index + round) % subjects.length]);
  const times = new Map<string, number>();
  for (const subject of order) if (subject !== undefined) times.set(subject.name, await timed(subject.play));
  const own = times.get("not installed") ?? 1;
  base.push(own);
  for (const { name, ratios } of subjects) ratios.push((times.get(name) ?? own) / own);
}
console.log(`W2 without the plugin: ${median(base).toFixed(0)} µs of processor time per run; ratios to it, medians of ${ROUNDS} rounds`);
for (const { name, ratios } of subjects) console.log(`${name.padEnd(34)} ${median(ratios).toFixed(3)}`);
