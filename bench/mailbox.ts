/**
 * Runs through the queue: how many a second for one and two worker processes, and how long it takes from a submit to its first event,
 * beside the bare claim-and-done of the same engine in the same run.
 * Run: npm run bench:mailbox [runs, default 400]
 */
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { QueueStore } from "@awaken/contract/store";
import type { Runtime } from "@awaken/runtime";
import { median } from "./field/statistics.ts";
import { digits, table } from "./field/tables.ts";
import { ASKED, type Kind, openRuntime, openStore, type Place } from "./mailbox/agent.ts";
import { barePostgres, bareSqlite } from "./mailbox/bare.ts";
import { startPostgres } from "./store/server.ts";

const RUNS = Number(process.argv[2] ?? 400);
const BARE_JOBS = 2_000;
/** The first second of a process is slow: these runs are not counted. */
const WARM_RUNS = 60;
const SUBMITS = 30;
const WORKER = join(import.meta.dirname, "mailbox", "worker.ts");

async function openWorkers(place: Place, count: number): Promise<readonly ChildProcess[]> {
  const options = { execArgv: ["--conditions=awaken-source"] };
  const workers = Array.from({ length: count }, () => fork(WORKER, [JSON.stringify(place)], options));
  await Promise.all(workers.map((worker) => once(worker, "message")));
  for (const worker of workers) worker.send("go");
  return workers;
}

async function closeWorkers(workers: readonly ChildProcess[]): Promise<void> {
  await Promise.all(
    workers.map(async (worker) => {
      const ended = once(worker, "exit");
      worker.send("end");
      await ended;
    }),
  );
}

async function submit(runtime: Runtime, kind: Kind, count: number): Promise<void> {
  for (let at = 0; at < count; at += 16) {
    await Promise.all(Array.from({ length: Math.min(16, count - at) }, () => runtime.start({ input: ASKED[kind] })));
  }
}

async function drained(store: QueueStore): Promise<void> {
  for (;;) {
    const { queued, claimed } = await store.dispatches.countByStatus();
    if (queued + claimed === 0) return;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

/** From the first submit to the last ack, submits included: workers are there and wait. */
async function runsPerSecond(place: Place, kind: Kind, processes: number): Promise<number> {
  await using store = openStore(place);
  await using runtime = openRuntime(store, false);
  const workers = await openWorkers(place, processes);
  await submit(runtime, kind, WARM_RUNS);
  await drained(store);
  const start = performance.now();
  await submit(runtime, kind, RUNS);
  await drained(store);
  const rate = RUNS / ((performance.now() - start) / 1_000);
  await closeWorkers(workers);
  return rate;
}

/** In another process than the one that executes the run; the queue is empty. */
async function firstEventMs(place: Place): Promise<number> {
  await using store = openStore(place);
  await using runtime = openRuntime(store, false);
  const workers = await openWorkers(place, 1);
  const times: number[] = [];
  for (let nth = 0; nth < SUBMITS; nth++) {
    const start = performance.now();
    const { runId } = await runtime.start({ input: ASKED["one turn"] });
    for await (const _ of runtime.attach(runId)) break;
    times.push(performance.now() - start);
    await runtime.wait(runId);
  }
  await closeWorkers(workers);
  return median(times);
}

async function measure(name: string, place: Place, bare: number): Promise<readonly string[]> {
  const one = await runsPerSecond(place, "one turn", 1);
  const cells = [
    one,
    await runsPerSecond(place, "one turn", 2),
    await runsPerSecond(place, "three steps", 1),
    await runsPerSecond(place, "three steps", 2),
  ];
  return [name, digits(bare), ...cells.map(digits), digits(Math.max(...cells.slice(0, 2)) / bare), digits(await firstEventMs(place))];
}

const HEAD = [
  ...["engine", "bare claim-and-done /s", "one-turn runs/s, 1 process", "2 processes", "three-step runs/s, 1 process", "2 processes"],
  ...["one-turn of bare", "submit to first event, ms"],
];

const folder = mkdtempSync(join(tmpdir(), "awaken-bench-mailbox-"));
const server = await startPostgres();
try {
  const sqlite = await measure("SQLite", { type: "sqlite", file: join(folder, "runs.db") }, bareSqlite(join(folder, "bare.db"), BARE_JOBS));
  const postgres = await measure("PostgreSQL", { type: "postgres", url: server.url }, await barePostgres(server.url, BARE_JOBS));
  console.log(table(HEAD, [sqlite, postgres]));
  console.log(`\nNode ${process.version}, ${RUNS} runs a figure, each on a thread of its own, 16 at a time in each process.`);
} finally {
  await server.stop();
  rmSync(folder, { recursive: true, force: true });
}
process.exit(0);
