/**
 * What a durable step costs, per store, beside the physical limit of its engine measured in the same run: a bare INSERT transaction of
 * the same ten rows, and of one row. Then whether a long thread costs more than a short one, and how many bytes a step leaves.
 * Run: npx node --conditions=awaken-source bench/store.ts [part of a store's name]
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Store } from "@awaken/contract";
import { memoryStore } from "@awaken/stores";
import { postgresStore } from "@awaken/stores/postgres";
import { sqliteStore } from "@awaken/stores/sqlite";
import { type Bare, openBarePostgres, openBareSqlite } from "./store/bare.ts";
import { startPostgres } from "./store/server.ts";
import { bareRows, nextStep, startConversation } from "./store/step.ts";

const ROUNDS = 3;
const SLICE_MS = 800;
const WRITERS = 16;
const MARKS = [10, 100, 1_000];
const TARGET = 0.6;

interface Subject {
  readonly name: string;
  readonly store: Store;
  readonly bare: Bare | undefined;
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

const median = (values: readonly number[]): number => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;

interface Measured {
  readonly alone: number;
  readonly together: number;
  readonly bareOne: number;
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
    bareOne: await (bare === undefined ? none() : rate(1, () => bare.insert(bareRows(nextStep(model)).slice(0, 1), 0))),
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
    store: subject.name,
    "commits/s": of("alone"),
    "of bare step": ratio("alone", "bareStep"),
    "of bare row": ratio("alone", "bareOne"),
    [`x${WRITERS} commits/s`]: of("together"),
    [`x${WRITERS} of bare step`]: ratio("together", "bareTogether"),
    "bare step/s": of("bareStep"),
    "bare row/s": of("bareOne"),
  };
}

/** Milliseconds of a commit when the thread is this long. */
async function growth({ name, store }: Subject) {
  const conversation = startConversation();
  const costs: Record<string, number | string> = { store: name };
  const before = (await store.stats()).bytes;
  for (const mark of MARKS) {
    while (conversation.steps < mark) await store.commit(nextStep(conversation));
    const samples: number[] = [];
    for (let sample = 0; sample < 40; sample++) {
      const commit = nextStep(conversation);
      const start = performance.now();
      await store.commit(commit);
      samples.push(performance.now() - start);
    }
    costs[`ms at step ${mark}`] = median(samples);
  }
  const bytes = (await store.stats()).bytes - before;
  const content = bareRows(nextStep(conversation)).reduce((sum, [, body]) => sum + body.length, 0);
  return { ...costs, "bytes/step": Math.round(bytes / conversation.steps), "JSON bytes/step": content };
}

const folder = mkdtempSync(join(tmpdir(), "awaken-bench-store-"));
const server = await startPostgres();
const sqlite = (synchronous: "full" | "normal"): Subject => ({
  name: `sqlite ${synchronous}`,
  store: sqliteStore(join(folder, `${synchronous}.db`), { synchronous }),
  bare: openBareSqlite(join(folder, `bare-${synchronous}.db`), synchronous),
});
const subjects: readonly Subject[] = [
  { name: "memory", store: memoryStore(), bare: undefined },
  sqlite("full"),
  sqlite("normal"),
  {
    name: "postgres",
    store: postgresStore(server.url, { schema: `bench_${process.pid}`, connections: WRITERS }),
    bare: await openBarePostgres(server.url, WRITERS),
  },
];

const round = (value: unknown) => (typeof value === "number" ? Number(value.toPrecision(3)) : value);
const rounded = (rows: readonly object[]) =>
  rows.map((row) => Object.fromEntries(Object.entries(row).map(([key, value]) => [key, round(value)])));
const speeds: Awaited<ReturnType<typeof measure>>[] = [];
const costs: object[] = [];
for (const subject of subjects.filter(({ name }) => name.includes(process.argv[2] ?? ""))) {
  speeds.push(await measure(subject));
  costs.push(await growth(subject));
  await subject.store.close();
  await subject.bare?.close();
}
console.log(`a typical step: 2 messages, run, thread state, 6 events; ${process.version}, median of ${ROUNDS} rounds`);
console.table(rounded(speeds));
console.table(rounded(costs));
for (const { store, "of bare step": share } of speeds) {
  if (share < TARGET) console.log(`${store}: ${share.toFixed(2)} of the bare transaction, target ${TARGET}`);
}
await server.stop();
rmSync(folder, { recursive: true, force: true });
