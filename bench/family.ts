/**
 * What it costs that a run is asked for by another one, and what trees of runs that wait hold in memory.
 * Run: npm run bench:family [runs in each of 15 rounds, default 200] [trees, default 1000]
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { Message, Provider, StreamPart } from "@awaken/contract";
import type { QueueStore } from "@awaken/contract/store";
import { ask, createRuntime, defineTool, type Runtime } from "@awaken/runtime";
import { memoryStore } from "@awaken/stores/memory";
import { sqliteStore } from "@awaken/stores/sqlite";
import * as z from "zod";
import { median } from "./field/statistics.ts";
import { digits, table } from "./field/tables.ts";

const RUNS = Number(process.argv[2] ?? 200);
const TREES = Number(process.argv[3] ?? 1_000);
const ROUNDS = 15;
const WARM_TREES = 100;

/** Calls one tool, then answers with two deltas. */
function modelOf(name: string): Provider {
  async function* answer(messages: readonly Message[]): AsyncGenerator<StreamPart> {
    if (messages.at(-1)?.role === "tool") {
      yield { type: "text-delta", delta: "It is " };
      yield { type: "text-delta", delta: "done." };
      yield { type: "stop", reason: "end-turn" };
      return;
    }
    yield { type: "tool-call-start", id: "c1", name };
    yield { type: "tool-call-delta", id: "c1", delta: name.startsWith("agent_run") ? '{"prompt":"go"}' : "{}" };
    yield { type: "stop", reason: "tool-use" };
  }
  return { name, stream: ({ messages }) => answer(messages) };
}

const MODELS = { clerk: "look", alone: "look", lead: "agent_run_clerk", writer: "agent_run_payer", head: "agent_run_writer", payer: "pay" };

function openRuntime(store: QueueStore): Runtime {
  const input = z.object({});
  return createRuntime({
    providers: Object.fromEntries(Object.entries(MODELS).map(([id, tool]) => [id, modelOf(tool)])),
    models: Object.fromEntries(Object.keys(MODELS).map((id) => [id, { provider: id, model: "m" }])),
    agents: {
      clerk: { model: "clerk", description: "Looks", tools: ["look"] },
      alone: { model: "alone", tools: ["look"] },
      lead: { model: "lead", delegates: ["clerk"], tools: [] },
      head: { model: "head", delegates: ["writer"], tools: [] },
      writer: { model: "writer", description: "Writes", delegates: ["payer"], tools: [] },
      payer: { model: "payer", description: "Pays", tools: ["pay"] },
    },
    tools: [
      defineTool({ id: "look", description: "Looks", input, idempotent: true, execute: () => ({ ok: true }) }),
      defineTool({ id: "pay", description: "Pays", input, approve: () => ask("Pay?"), execute: () => "paid" }),
    ],
    store,
    workers: false,
    log: { warn() {}, error() {} },
  });
}

/** Processor time of one run of the agent, in µs. Finished runs stay in the store: each round has its own. */
async function costOf(agent: string): Promise<number> {
  await using runtime = openRuntime(memoryStore());
  const before = process.cpuUsage();
  for (let run = 0; run < RUNS; run++) {
    const { status } = await runtime.run({ agent, input: "go" });
    if (status !== "done") throw new Error(`${agent} is ${status}`);
  }
  const { user, system } = process.cpuUsage(before);
  return (user + system) / RUNS;
}

async function delegation(): Promise<void> {
  const root: number[] = [];
  const delegated: number[] = [];
  for (let round = 0; round <= ROUNDS; round++) {
    // The lead does what `alone` does, with a run in the place of its tool: the rest is the run's.
    const alone = await costOf("alone");
    const both = await costOf("lead");
    if (round > 0) root.push(alone);
    if (round > 0) delegated.push(both - alone);
  }
  const [own, child] = [median(root), median(delegated)];
  console.log(
    table(
      ["µs of processor time", "root run", "delegated run", "of a root run"],
      [["two steps, memory store", digits(own), digits(child), digits(child / own)]],
    ),
  );
}

async function heapKiB(): Promise<number> {
  for (let turn = 0; turn < 6; turn++) {
    globalThis.gc?.();
    await sleep(20);
  }
  return process.memoryUsage().heapUsed / 1_024;
}

async function park(runtime: Runtime, count: number): Promise<void> {
  for (let tree = 0; tree < count; tree++) {
    const result = await runtime.run({ agent: "head", input: "go" });
    if (result.status !== "waiting" || result.tickets.length !== 1) throw new Error("the tree does not wait");
  }
}

async function parkedTrees(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), "awaken-bench-family-"));
  try {
    await using store = sqliteStore(join(folder, "awaken.db"));
    await using runtime = openRuntime(store);
    await park(runtime, WARM_TREES);
    const before = await heapKiB();
    await park(runtime, TREES);
    const held = (await heapKiB()) - before;
    console.log(
      table(
        ["trees of three that wait, SQLite", "heap KiB in all", "heap KiB each"],
        [[String(TREES), digits(held), digits(held / TREES)]],
      ),
    );
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

await delegation();
await parkedTrees();
