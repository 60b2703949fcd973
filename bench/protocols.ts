import { readdirSync, readFileSync } from "node:fs";
import type { AgentEvent } from "@awaken/contract";
import { AgUiEncoder, AiSdkEncoder } from "@awaken/server";

// What it costs to put an event into the words of a protocol, up to the text that travels: golden logs, and an answer of a thousand deltas.

const CEILING_US = 5;
const ROUNDS = 1_000;
const SAMPLES = 10;
const WARM_UP = 100;

const folder = new URL("../packages/contract/golden/", import.meta.url);

type Log = readonly (readonly AgentEvent[])[];

const golden: Log = readdirSync(folder)
  .filter((file) => file.endsWith(".json"))
  .flatMap((file) => JSON.parse(readFileSync(new URL(file, folder), "utf8")).activations);

const [start, , step] = golden.find((events) => events.some(({ type }) => type === "text-delta")) ?? [];
if (start === undefined || step === undefined) throw new Error("there is no golden log with text");
const deltas: Log = [[start, step, ...Array.from({ length: 1_000 }, (): AgentEvent => ({ type: "text-delta", delta: "some words " }))]];

interface Encoder {
  encode(event: AgentEvent): readonly object[];
}

const ENCODERS: Readonly<Record<string, () => Encoder>> = {
  "AI SDK 7": () => new AiSdkEncoder({ dialect: 7, frontendTools: [] }),
  "AI SDK 6": () => new AiSdkEncoder({ dialect: 6, frontendTools: [] }),
  "AG-UI 1.0": () => new AgUiEncoder({ dialect: "1.0" }),
  "AG-UI before": () => new AgUiEncoder({ dialect: "older" }),
};

/** Bytes, so that nothing is left out. */
function pass(open: () => Encoder, log: Log): number {
  let bytes = 0;
  for (const events of log) {
    const encoder = open();
    for (const event of events) for (const frame of encoder.encode(event)) bytes += `data: ${JSON.stringify(frame)}\n\n`.length;
  }
  return bytes;
}

const countOf = (log: Log): number => log.reduce((sum, events) => sum + events.length, 0);

/** Of the processor, not of the clock: other programs may be at work. The best of several samples is what it costs. */
function microsPerEvent(open: () => Encoder, log: Log): number {
  for (let round = 0; round < WARM_UP; round++) pass(open, log);
  const samples = Array.from({ length: SAMPLES }, () => {
    const from = process.cpuUsage();
    for (let round = 0; round < ROUNDS / SAMPLES; round++) pass(open, log);
    const { user, system } = process.cpuUsage(from);
    return (user + system) / ((ROUNDS / SAMPLES) * countOf(log));
  });
  return Math.min(...samples);
}

let isOver = false;
for (const [name, open] of Object.entries(ENCODERS)) {
  const [logs, words] = [microsPerEvent(open, golden), microsPerEvent(open, deltas)];
  isOver ||= logs > CEILING_US || words > CEILING_US;
  console.log(`${name.padEnd(14)} golden logs ${logs.toFixed(2)} µs/event   text ${words.toFixed(2)} µs/event   (at most ${CEILING_US})`);
}
if (isOver) process.exitCode = 1;
