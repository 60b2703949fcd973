/**
 * What a durable step costs, per store, beside the physical limit of its engine measured in the same run: a bare INSERT transaction of
 * the same ten rows. Then whether a long thread costs more than a short one, and how many bytes a step leaves,
 * beside LangGraph's SqliteSaver with the same messages, when it is installed.
 * Run: npx node --conditions=awaken-source bench/store.ts [part of a store's name]
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Store } from "@awaken/contract/store";
import { memoryStore } from "@awaken/stores";
import { postgresStore } from "@awaken/stores/postgres";
import { sqliteStore } from "@awaken/stores/sqlite";
import { replaceGenerated } from "./field/generated.ts";
import { median } from "./field/statistics.ts";
import { digits, table } from "./field/tables.ts";
import { type Bare, openBarePostgres, openBareSqlite } from "./store/bare.ts";
import { measureLangGraph } from "./store/langgraph.ts";
import { startPostgres } from "./store/server.ts";
import { bareRows, nextStep, startConversation } from "./store/step.ts";

const ROUNDS = 3;
const SLICE_MS = 800;
const WRITERS = 16;
const MARKS = [10, 100, 1_000];
const WINDOW = 40;
const TARGET = 0.6;

interface Subject {
  readonly store: Store;
  readonly bare: Bare | undefined;
  close(): Promise<void>;
}

/** Calls `once` one after the other in each of the workers until the time is over; calls per second of all of them. */
async function rate(workers: number, once: (worker: number) => Promise<unknown> | unknown): Promise<number> {
  const start = performance.now();
  let calls = 0;
  await Promise.all(
    Array.from({ length: workers }, async (_, worker) => {
      while (performance.now() - start < SLICE_MS) {
        await once(worker);
        calls++;
      }
    }),
  );
  return calls / ((performance.now() - start) / 1_000);
}

interface Measured {
  readonly alone: number;
  readonly together: number;
  readonly bareStep: number;
  readonly bareTogether: number;
}

/** One slice of everything, so that what else the machine does hits all of it alike. */
async function measureOnce({ store, bare }: Subject): Promise<Measured> {
  const conversations = Array.from({ length: WRITERS }, startConversation);
  const commit = (worker: number) => store.commit(nextStep(conversations[worker] ?? startConversation()));
  const model = startConversation();
  const step = (worker: number) => bare?.insert(bareRows(nextStep(model)), worker);
  const none = async () => Number.NaN;
  return {
    alone: await rate(1, commit),
    bareStep: await (bare === undefined ? none() : rate(1, step)),
    together: await rate(WRITERS, commit),
    bareTogether: await (bare === undefined ? none() : rate(WRITERS, step)),
  };
}

async function measure(subject: Subject) {
  const rounds: Measured[] = [];
  for (let round = 0; round <= ROUNDS; round++) {
    const measured = await measureOnce(subject);
    if (round > 0) rounds.push(measured);
  }
  const of = (key: keyof Measured) => median(rounds.map((round) => round[key]));
  // Ratios are taken within a round: from one to the next the machine may have become another one.
  const ratio = (key: keyof Measured, base: keyof Measured) => median(rounds.map((round) => round[key] / round[base]));
  return {
    alone: of("alone"),
    ofBareStep: ratio("alone", "bareStep"),
    together: of("together"),
    togetherOfBareStep: ratio("together", "bareTogether"),
  };
}

interface Growth {
  readonly ms: readonly number[];
  /** Bytes that a step left behind, at each mark. */
  readonly bytes: readonly number[];
  readonly jsonBytes: number;
}

/** What a commit costs when the thread is as long as each mark. */
async function growth({ store }: Subject): Promise<Growth> {
  const conversation = startConversation();
  const size = async () => (await store.stats()).bytes;
  const ms: number[] = [];
  const bytes: number[] = [];
  for (const mark of MARKS) {
    while (conversation.steps < mark) await store.commit(nextStep(conversation));
    const before = await size();
    const samples: number[] = [];
    while (samples.length < WINDOW) {
      const commit = nextStep(conversation);
      const start = performance.now();
      await store.commit(commit);
      samples.push(performance.now() - start);
    }
    ms.push(median(samples));
    bytes.push(((await size()) - before) / WINDOW);
  }
  return { ms, bytes, jsonBytes: bareRows(nextStep(conversation)).reduce((sum, [, body]) => sum + body.length, 0) };
}

const folder = mkdtempSync(join(tmpdir(), "awaken-bench-store-"));
const sqlite = (synchronous: "full" | "normal"): Subject => {
  const store = sqliteStore(join(folder, `${synchronous}.db`), { synchronous });
  const bare = openBareSqlite(join(folder, `bare-${synchronous}.db`), synchronous);
  return {
    store,
    bare,
    async close() {
      await store.close();
      await bare.close();
    },
  };
};

async function postgres(): Promise<Subject> {
  const server = await startPostgres();
  const store = postgresStore(server.url, { schema: `bench_${process.pid}`, connections: WRITERS });
  const bare = await openBarePostgres(server.url, WRITERS);
  return {
    store,
    bare,
    async close() {
      await store.close();
      await bare.close();
      await server.stop();
    },
  };
}

function memory(): Subject {
  const store = memoryStore();
  return { store, bare: undefined, close: () => store.close() };
}

const STORES: Readonly<Record<string, () => Subject | Promise<Subject>>> = {
  memory,
  "SQLite, synchronous full": () => sqlite("full"),
  "SQLite, synchronous normal": () => sqlite("normal"),
  PostgreSQL: postgres,
};
const SAVER = "LangGraph SqliteSaver, synchronous normal";

const filter = (process.argv[2] ?? "").toLowerCase();
const isWanted = (name: string) => name.toLowerCase().includes(filter);
const list = (values: readonly number[]) => values.map(digits).join(" / ");
const rows: string[][] = [];
let jsonBytes = Number.NaN;
for (const [name, open] of Object.entries(STORES).filter(([name]) => isWanted(name))) {
  const subject = await open();
  const speed = await measure(subject);
  const grown = await growth(subject);
  jsonBytes = grown.jsonBytes;
  rows.push([
    name,
    ...[speed.alone, speed.ofBareStep, speed.together, speed.togetherOfBareStep].map(digits),
    list(grown.ms),
    list(grown.bytes),
  ]);
  await subject.close();
  if (speed.ofBareStep < TARGET) console.log(`${name}: ${digits(speed.ofBareStep)} of the bare transaction, target ${TARGET}`);
}
rmSync(folder, { recursive: true, force: true });

// A checkpoint of LangGraph holds all messages, so a thousand steps would be more than a gigabyte.
const saved = isWanted(SAVER) ? await measureLangGraph(MARKS.slice(0, 2), WINDOW) : undefined;
if (saved !== undefined) rows.push([SAVER, "–", "–", "–", "–", "–", `${list(saved)} / –`]);

const head = ["store", "commits/s", "of the bare transaction", `${WRITERS} writers, commits/s`, "of the bare transaction"];
const text = table([...head, `ms at step ${list(MARKS)}`, `bytes a step leaves at ${list(MARKS)}`], rows);
const origin = `Node ${process.version}, median of ${ROUNDS} rounds. The JSON of such a step is ${digits(jsonBytes)} bytes.`;
console.log(`\n${text}\n\n${origin}`);
if (saved === undefined && isWanted(SAVER)) console.log("LangGraph's SqliteSaver is left out: npm run bench:peers installs it");
if (filter === "" && saved !== undefined) {
  const file = join(import.meta.dirname, "README.md");
  writeFileSync(file, replaceGenerated(readFileSync(file, "utf8"), "stores", `${text}\n\n${origin}`));
  console.log("wrote bench/README.md");
}
