import { symlinkSync } from "node:fs";
import { join } from "node:path";
import { AwakenError, scopeId } from "@awaken/contract";
import type { QueueStore, ScopedQueueStore } from "@awaken/contract/store";
import { describe, expect, test } from "vitest";
import { memoryStore } from "../memory/index.ts";
import { postgresStore } from "../postgres/store.ts";
import { serverUrl } from "../postgres/test-server.ts";
import { openTestStore as openPostgres, schemaOf } from "../postgres/test-store.ts";
import { sqliteStore } from "../sqlite/store.ts";
import { tempFolder } from "../sqlite/test-store.ts";
import { RandomCalls } from "./random-calls.ts";
import { Chance, Names, Pool } from "./random-names.ts";
import type { Call } from "./random-pending.ts";
import { wholeCall } from "./random-whole-calls.ts";

/** Stores of the same data, each as if it were of a process of its own. */
interface Engine {
  readonly name: string;
  readonly stores: readonly [QueueStore, ...QueueStore[]];
  readonly names: Names;
  close(): Promise<void>;
}

/** Ids that stand in the order in which they were made. */
function countingIds(): () => string {
  let made = 0;
  return () => `id-${String(++made).padStart(8, "0")}`;
}

function engineOf(name: string, stores: readonly [QueueStore, ...QueueStore[]], remove = () => {}): Engine {
  const close = async () => {
    for (const store of stores.toReversed()) await store.close();
    remove();
  };
  return { name, stores, names: new Names(), close };
}

function openSqlite(clock: () => number): Engine {
  const folder = tempFolder();
  const options = { clock, ids: countingIds(), synchronous: "normal" } as const;
  const first = sqliteStore(join(folder.path, "a.db"), options);
  symlinkSync(join(folder.path, "a.db"), join(folder.path, "b.db"));
  return engineOf("sqlite", [first, sqliteStore(join(folder.path, "b.db"), options)], folder.remove);
}

async function openPair(clock: () => number): Promise<Engine> {
  const options = { clock, ids: countingIds() };
  const first = await openPostgres(options);
  return engineOf("postgres", [first, postgresStore(await serverUrl(), { ...options, schema: schemaOf(first), connections: 2 })]);
}

async function answer({ names }: Engine, work: Promise<unknown>): Promise<unknown> {
  try {
    return names.told((await work) ?? null);
  } catch (thrown) {
    if (!AwakenError.is(thrown)) throw thrown;
    return { error: thrown.code };
  }
}

class Undone extends Error {}

/** Several calls, and then all of them taken back or not. */
const together =
  (calls: readonly Call[], isUndone: boolean) =>
  async (store: ScopedQueueStore, engine: Engine): Promise<unknown> => {
    const told: unknown[] = [];
    const known = engine.names.count;
    try {
      await store.transaction(async (ports) => {
        for (const call of calls) told.push(await answer(engine, call(ports, engine.names)));
        if (isUndone) throw new Undone();
      });
    } catch (thrown) {
      if (!(thrown instanceof Undone)) throw thrown;
      engine.names.forget(known);
    }
    return told;
  };

const TENANTS = [scopeId("default"), scopeId("other")] as const;

async function compare(seed: number, count: number, engines: readonly Engine[], clock: { now: number }): Promise<void> {
  const chance = new Chance(seed);
  const tenants = TENANTS.map((id) => {
    const pool = new Pool();
    const seen = () => (engines[0]?.stores[0] ?? expect.fail()).scoped(id);
    return { id, pool, calls: new RandomCalls(chance, pool, seen) };
  });
  let latest = clock.now;
  let floor = 0;
  for (let index = 0; index < count; index++) {
    latest = Math.max(latest, clock.now);
    clock.now += chance.is(0.05) ? -chance.below(20_000) : chance.of([0, 0, 1, 7, 9_000]);
    clock.now = Math.max(clock.now, floor);
    const { id, pool, calls } = tenants[chance.is(0.8) ? 0 : 1] ?? expect.fail();
    const who = chance.below(2);
    const isWhole = chance.is(0.08);
    const whole = wholeCall(chance);
    // What was swept is not remembered by every engine, and a clock that goes back behind it is not told of.
    if (isWhole) floor = clock.now = latest;
    const size = chance.is(0.06) ? 3 : 1;
    const several: Call[] = [];
    for (let made = 0; made < size; made++) several.push(await calls.next());
    const [one] = several;
    const isUndone = chance.is(0.5);
    const answers: unknown[] = [];
    for (const engine of engines) {
      const store = engine.stores[who] ?? engine.stores[0];
      if (isWhole) answers.push(await answer(engine, whole(store, engine.names)));
      else if (one !== undefined && size === 1) answers.push(await answer(engine, one(store.scoped(id), engine.names)));
      else answers.push(await together(several, isUndone)(store.scoped(id), engine));
    }
    const [first, ...others] = answers;
    for (const [at, other] of others.entries()) {
      const label = `seed ${seed}, call ${index} on ${engines[at + 1]?.name}: ${(isWhole ? whole : several).toString()}`;
      expect(other, label).toEqual(first);
    }
    if (size === 1 || !isUndone) pool.learn(first);
  }
}

/** More of it: `AWAKEN_ALIKE_SEEDS=40 AWAKEN_ALIKE_CALLS=2000`. */
const numberOf = (name: string, usual: number): number => Number(process.env[name] ?? usual);
const FIRST = numberOf("AWAKEN_ALIKE_FROM", 1);
const SEEDS = Array.from({ length: numberOf("AWAKEN_ALIKE_SEEDS", 1) }, (_, index) => FIRST + index);

describe("memory, SQLite and PostgreSQL give the same answers to the same calls", () => {
  test.each(SEEDS)("at random, with seed %i", async (seed) => {
    const clock = { now: 1_700_000_000_000 };
    const read = () => clock.now;
    const engines = [engineOf("memory", [memoryStore({ clock: read, ids: countingIds() })]), openSqlite(read)];
    try {
      engines.push(await openPair(read));
      await compare(seed, numberOf("AWAKEN_ALIKE_CALLS", 200), engines, clock);
    } finally {
      for (const engine of engines) await engine.close();
    }
  });
});
