/**
 * One turn of twenty deltas over HTTP and server-sent events, 32 connections: our server on each store beside the same frames without us, in turn.
 * Then many open streams, and readers who do not read. A run without arguments writes its figures into bench/README.md.
 * Run: npm run bench:server [rounds, default 3] [seconds, default 4]
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { Agent } from "node:http";
import { loadavg, tmpdir } from "node:os";
import { join } from "node:path";
import { replaceGenerated } from "./field/generated.ts";
import { median } from "./field/statistics.ts";
import { digits, table } from "./field/tables.ts";
import { measure, open, type Rate, type Served, startServer, textOf } from "./server/client.ts";
import { AT_LENGTH, type Place } from "./server/ours.ts";
import type { PeerName } from "./server/peers.ts";
import { startPostgres } from "./store/server.ts";

const ROUNDS = Number(process.argv[2] ?? 3);
const MS = 1_000 * Number(process.argv[3] ?? 4);
const WARM = 6_000;
const STREAMS = 2_000;
const SLEEPERS = 200;

interface Subject {
  readonly label: string;
  readonly name: PeerName | "ours";
  readonly place?: () => Place;
}

async function rateOf({ name, place }: Subject): Promise<Rate> {
  await using server = await startServer(name, place?.());
  // Awaited here: the server is gone when this returns.
  return await measure(server, { warm: WARM, ms: MS });
}

async function rates(subjects: readonly Subject[]): Promise<string> {
  const taken = new Map<Subject, Rate[]>(subjects.map((subject) => [subject, []]));
  for (let round = 0; round < ROUNDS; round++) {
    for (const [subject, of] of taken) of.push(await rateOf(subject));
  }
  const figure = (name: string, pick: (rate: Rate) => number): number =>
    median([...taken].flatMap(([{ label }, of]) => (label === name ? of.map(pick) : [])));
  const [frames, aiSdk] = [figure("frame by frame", ({ perSecond }) => perSecond), figure("AI SDK", ({ perSecond }) => perSecond)];
  return table(
    ["", "requests/s", "p50, ms", "p99, ms", "of frame by frame", "of the AI SDK", "processor time of the server, µs a request"],
    subjects.map(({ label }) => {
      const perSecond = figure(label, (rate) => rate.perSecond);
      const [p50, p99] = [figure(label, (rate) => rate.p50), figure(label, (rate) => rate.p99)];
      return [label, ...[perSecond, p50, p99, perSecond / frames, perSecond / aiSdk, figure(label, (rate) => rate.cpuUs)].map(digits)];
    }),
  );
}

const follow = ({ port }: Served, thread: string, agent: Agent) =>
  open({ port, path: `/v1/threads/${thread}/events/stream`, method: "GET", agent });

/** Readers of threads where nothing happens, each of one of his own. */
async function kibOfStream(): Promise<number> {
  await using server = await startServer("ours");
  await measure(server, { warm: 1_000, ms: 500 });
  const { port } = server;
  const names = Array.from({ length: STREAMS }, (_, index) => `t${index}`);
  for (const id of names) await textOf(await open({ port, path: "/v1/threads", body: { id } }));
  const agent = new Agent({ keepAlive: true, maxSockets: STREAMS });
  const before = await server.held();
  for (const name of names) await follow(server, name, agent);
  const after = await server.held();
  agent.destroy();
  return (after - before) / STREAMS / 1_024;
}

/** Turns of others, without and with readers who have asked for a megabyte and take nothing of it. */
async function withSleepers(): Promise<readonly [alone: Rate, beside: Rate]> {
  await using server = await startServer("ours");
  const { port } = server;
  const body = { agentId: "assistant", threadId: "long", messages: [{ role: "user", content: AT_LENGTH }] };
  await textOf(await open({ port, path: "/v1/runs", body }));
  const alone = await measure(server, { warm: WARM, ms: MS });
  const agent = new Agent({ keepAlive: true, maxSockets: SLEEPERS });
  for (let reader = 0; reader < SLEEPERS; reader++) (await follow(server, "long", agent)).pause();
  const beside = await measure(server, { warm: 500, ms: MS });
  agent.destroy();
  return [alone, beside];
}

const folder = mkdtempSync(join(tmpdir(), "awaken-bench-server-"));
const postgres = await startPostgres();
try {
  let files = 0;
  const sqlite = (): Place => ({ type: "sqlite", file: join(folder, `${files++}.db`) });
  const subjects: readonly Subject[] = [
    { label: "one body", name: "body" },
    { label: "frame by frame", name: "frames" },
    { label: "AI SDK", name: "ai-sdk" },
    { label: "awaken, memory", name: "ours" },
    { label: "awaken, SQLite", name: "ours", place: sqlite },
    { label: "awaken, PostgreSQL", name: "ours", place: () => ({ type: "postgres", url: postgres.url }) },
  ];
  const [load = 0] = loadavg();
  const rows = await rates(subjects);
  const [alone, beside] = await withSleepers();
  const share = digits(beside.perSecond / alone.perSecond);
  const text = [
    rows,
    "",
    `${digits(STREAMS)} open streams: ${digits(await kibOfStream())} KiB each. Beside ${SLEEPERS} readers who do not read: ${share} of the requests/s, p99 ${digits(beside.p99)} ms instead of ${digits(alone.p99)}.`,
    "",
    `Node ${process.version}, 32 connections, median of ${ROUNDS} rounds of ${MS / 1_000} s in turn; the client shares the two cores, on which the load average was ${digits(load)} before.`,
  ].join("\n");
  console.log(text);
  if (process.argv.length === 2) {
    const file = join(import.meta.dirname, "README.md");
    writeFileSync(file, replaceGenerated(readFileSync(file, "utf8"), "server", text));
    console.log("\nwrote bench/README.md");
  }
} finally {
  await postgres.stop();
  rmSync(folder, { recursive: true, force: true });
}
process.exit(0);
