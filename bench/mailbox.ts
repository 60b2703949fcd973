/**
 * Runs through the queue: how many a second for one and two worker processes, and how long it takes from a submit to its first event,
 * beside the bare claim-and-done of the same engine and, on the same PostgreSQL, graphile-worker and DBOS (`npm run bench:queues` installs
 * them); then what runs that wait cost a node that is idle.
 * Run: npm run bench:mailbox [-- --runs 1000 --waiting 10000], or `-- --quick` for a look whether it works
 */
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import type { RunId } from "@awaken/contract";
import type { QueueStore } from "@awaken/contract/store";
import type { Runtime } from "@awaken/runtime";
import { isInstalled } from "./field/install.ts";
import { median } from "./field/statistics.ts";
import { digits, table } from "./field/tables.ts";
import { ASKED, type Kind, openRuntime, openStore, type Place } from "./mailbox/agent.ts";
import { barePostgres, bareSqlite } from "./mailbox/bare.ts";
import type { IdleFigures } from "./mailbox/idle.ts";
import { QUEUES } from "./mailbox/peer-list.ts";
import type { QueueFigures } from "./mailbox/queues.ts";
import { startPostgres } from "./store/server.ts";

const { values } = parseArgs({
  options: { quick: { type: "boolean", default: false }, runs: { type: "string" }, waiting: { type: "string" } },
});
const { quick: isQuick } = values;
const RUNS = Number(values.runs ?? (isQuick ? 20 : 1_000));
const WAITING = Number(values.waiting ?? (isQuick ? 40 : 10_000));
const JOBS = isQuick ? 100 : 2_000;
const FLOWS = isQuick ? 20 : 500;
/** The first second of a process is slow: these runs are not counted. */
const WARM_RUNS = isQuick ? 4 : 300;
const SUBMITS = isQuick ? 3 : 30;
const moduleOf = (name: string): string => join(import.meta.dirname, "mailbox", `${name}.ts`);
const CONDITIONS = ["--conditions=awaken-source"];

/** What a process of its own measured. */
async function measuredBy<T>(name: string, args: readonly string[], execArgv: readonly string[]): Promise<T> {
  const child = fork(moduleOf(name), args, { execArgv: [...execArgv] });
  const ended = once(child, "exit");
  const figures = await Promise.race([once(child, "message").then(([told]: T[]) => told), ended.then(() => undefined)]);
  if (figures === undefined) throw new Error(`${name} ended without figures`);
  await ended;
  return figures;
}

async function openWorkers(place: Place, count: number): Promise<readonly ChildProcess[]> {
  const workers = Array.from({ length: count }, () => fork(moduleOf("worker"), [JSON.stringify(place)], { execArgv: CONDITIONS }));
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

async function submit(runtime: Runtime, kind: Kind, count: number): Promise<readonly RunId[]> {
  const ids: RunId[] = [];
  for (let at = 0; at < count; at += 16) {
    const handles = await Promise.all(Array.from({ length: Math.min(16, count - at) }, () => runtime.start({ input: ASKED[kind] })));
    ids.push(...handles.map(({ runId }) => runId));
  }
  return ids;
}

/** Asked of indexes that hold open rows alone, so that looking costs the same whatever was done before. */
async function drained({ queue }: QueueStore): Promise<void> {
  while ((await queue.nextDueInMs()) !== undefined || (await queue.listConsumers()).length > 0) {
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

const perSecond = (runs: number, since: number): number => runs / ((performance.now() - since) / 1_000);

/** From the first submit to the last ack: workers are there and wait. */
async function submittedPerSecond(place: Place, kind: Kind, processes: number): Promise<number> {
  await using store = openStore(place);
  await using runtime = openRuntime(store, false);
  const workers = await openWorkers(place, processes);
  await submit(runtime, kind, WARM_RUNS);
  await drained(store);
  const start = performance.now();
  await submit(runtime, kind, RUNS);
  await drained(store);
  const rate = perSecond(RUNS, start);
  await closeWorkers(workers);
  return rate;
}

/** Claim and done, as the bare figure: all runs are in the queue before the first worker comes; it counts from when the early ones are over. */
async function waitingPerSecond(place: Place, kind: Kind, processes: number): Promise<number> {
  await using store = openStore(place);
  await using runtime = openRuntime(store, false);
  const early = await submit(runtime, kind, WARM_RUNS);
  await submit(runtime, kind, RUNS);
  const workers = await openWorkers(place, processes);
  await Promise.all(early.map((runId) => runtime.wait(runId)));
  const start = performance.now();
  await drained(store);
  const rate = perSecond(RUNS, start);
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

interface Figures {
  readonly bare: number;
  readonly waiting: readonly number[];
  readonly submitted: readonly number[];
  readonly threeSteps: readonly number[];
  readonly firstEventMs: number;
}

async function measure(place: Place, bare: number): Promise<Figures> {
  const forOneAndTwo = async (rate: typeof waitingPerSecond, kind: Kind) => [await rate(place, kind, 1), await rate(place, kind, 2)];
  return {
    bare,
    waiting: await forOneAndTwo(waitingPerSecond, "one turn"),
    submitted: await forOneAndTwo(submittedPerSecond, "one turn"),
    threeSteps: await forOneAndTwo(submittedPerSecond, "three steps"),
    firstEventMs: await firstEventMs(place),
  };
}

const pair = (rates: readonly number[]): string => rates.map(digits).join(" / ");

const ROWS: readonly (readonly [string, (figures: Figures) => string])[] = [
  ["bare claim-and-done /s", ({ bare }) => digits(bare)],
  ["one-turn runs/s that wait in the queue, 1 / 2 processes", ({ waiting }) => pair(waiting)],
  ["of bare", ({ waiting, bare }) => digits(Math.max(...waiting) / bare)],
  ["one-turn runs/s, submits included", ({ submitted }) => pair(submitted)],
  ["three-step runs/s, submits included", ({ threeSteps }) => pair(threeSteps)],
  ["submit to first event, ms", (figures) => digits(figures.firstEventMs)],
];

/** Runs that wait for a decision, on a thread each. */
async function park(place: Place, count: number): Promise<void> {
  await using store = openStore(place);
  await using runtime = openRuntime(store, false);
  for (let at = 0; at < count; at += 16) {
    await Promise.all(Array.from({ length: Math.min(16, count - at) }, () => runtime.run({ input: ASKED.waiting })));
  }
}

const IDLE_HEAD = ["engine", "runs that wait", "heap of an idle node, MiB", "statements in 10 minutes"];

/** Beside what the runs before have left: the difference is what those that wait cost. */
async function idle(name: string, place: Place): Promise<readonly (readonly string[])[]> {
  const look = () => measuredBy<IdleFigures>("idle", [JSON.stringify(place)], [...CONDITIONS, "--expose-gc"]);
  const row = (waiting: number, { heapBytes, statements }: IdleFigures) => [
    ...[name, digits(waiting), digits(heapBytes / 2 ** 20), `${statements}`],
  ];
  const before = row(0, await look());
  await park(place, WAITING);
  return [before, row(WAITING, await look())];
}

async function queues(url: string): Promise<string> {
  if (!isInstalled(QUEUES)) return "graphile-worker and DBOS are not installed: `npm run bench:queues` does that.";
  const { graphile, direct, queued } = await measuredBy<QueueFigures>("queues", [url, `${JOBS}`, `${FLOWS}`], []);
  const rows = [
    ["graphile-worker, jobs, 8 at a time", digits(graphile)],
    ["DBOS, workflows of three steps, started directly", digits(direct)],
    ["DBOS, the same through its queue", digits(queued)],
  ];
  return table(["on the same PostgreSQL", "/s"], rows);
}

const folder = mkdtempSync(join(tmpdir(), "awaken-bench-mailbox-"));
const server = await startPostgres();
const [inFile, onServer]: readonly [Place, Place] = [
  { type: "sqlite", file: join(folder, "runs.db") },
  { type: "postgres", url: server.url },
];
try {
  const sqlite = await measure(inFile, bareSqlite(join(folder, "bare.db"), JOBS));
  const postgres = await measure(onServer, await barePostgres(server.url, JOBS));
  const rows = ROWS.map(([name, cell]) => [name, cell(sqlite), cell(postgres)]);
  console.log(table(["", "SQLite", "PostgreSQL"], rows));
  console.log(`\n${await queues(server.url)}\n`);
  console.log(table(IDLE_HEAD, [...(await idle("SQLite", inFile)), ...(await idle("PostgreSQL", onServer))]));
  console.log(`\nNode ${process.version}, ${RUNS} runs a figure, each on a thread of its own, 16 at a time in each process.`);
} finally {
  await server.stop();
  rmSync(folder, { recursive: true, force: true });
}
process.exit(0);
