import { messageText, threadId } from "@awaken/contract";
import type { QueueStore } from "@awaken/contract/store";
import { type PgClient, postgresStore } from "@awaken/stores/postgres";
import pg from "pg";
import { describe, expect, test } from "vitest";
import { createRuntime } from "../create-runtime.ts";
import { systemClock } from "../stream/clock.ts";
import { text } from "../testing/script.ts";
import { scripted } from "../testing/scripted.ts";
import { freshSchema, openPostgres, url } from "./stores.test-support.ts";

/** What is told after a commit, or heard: no run waits for it. */
const isNotice = (sql: string): boolean => sql.includes("pg_notify") || sql.startsWith("LISTEN");

/** Counts how often somebody waits for the server: queries that are under way at the same time are one wait. */
class Meter {
  readonly trips: string[][] = [];
  /** How often the worker has gone to sleep: it asks nothing from then on until somebody wakes it. */
  sleeps = 0;
  /** The same when it had last settled a dispatch. */
  sleepsBefore = 0;
  #underWay = 0;

  get isQuiet(): boolean {
    return this.#underWay === 0;
  }

  async count<T>(sql: string, asked: Promise<T>): Promise<T> {
    if (isNotice(sql)) return asked;
    if (this.#underWay++ === 0) this.trips.push([]);
    this.trips.at(-1)?.push(sql);
    try {
      return await asked;
    } finally {
      this.#underWay -= 1;
    }
  }
}

/** A client of the pool whose queries are counted. */
function counted(client: pg.PoolClient, meter: Meter): PgClient {
  const query: PgClient["query"] = (asked) => meter.count(typeof asked === "string" ? asked : asked.text, client.query(asked));
  return new Proxy<PgClient>(client, {
    get(_, key) {
      if (key === "query") return query;
      const value: unknown = Reflect.get(client, key);
      return typeof value === "function" ? value.bind(client) : value;
    },
  });
}

/** A store on connections of its own whose trips are counted, up to the commit that settles a dispatch. */
function metered(schema: string) {
  const pool = new pg.Pool({ connectionString: url, max: 6, pipeline: true });
  const meter = new Meter();
  const inner = postgresStore({ connect: async () => counted(await pool.connect(), meter), end: () => pool.end() }, { schema });
  const settled: (readonly (readonly string[])[])[] = [];
  const close = async () => {
    await inner.close();
    await pool.end();
  };
  const store: QueueStore = {
    ...inner,
    commit: async (commit) => {
      const result = await inner.commit(commit);
      if (commit.dispatch?.type !== "ack") return result;
      settled.push([...meter.trips]);
      meter.sleepsBefore = meter.sleeps;
      return result;
    },
    close,
    [Symbol.asyncDispose]: close,
  };
  return { store, meter, settled };
}

const open = (store: QueueStore, workers: boolean, meter?: Meter) =>
  createRuntime({
    clock: {
      ...systemClock,
      idleTimer: (ms, fire) => {
        if (meter !== undefined) meter.sleeps += 1;
        return systemClock.timer(ms, fire);
      },
    },
    providers: { scripted: scripted([text("one"), text("two")]) },
    models: { fast: { provider: "scripted", model: "m" } },
    agents: { default: { model: "fast" } },
    log: { warn() {}, error() {} },
    store,
    ...(workers ? undefined : { workers }),
    // Whoever has a run asks for no other one meanwhile.
    concurrency: 1,
  });

describe("on PostgreSQL, a run of one turn waits for the server", () => {
  test("at most 3 times in the foreground", async () => {
    const schema = freshSchema();
    await using _owner = openPostgres(undefined, schema);
    const { store, meter, settled } = metered(schema);
    await using _store = store;
    await using runtime = open(store, false);
    await runtime.run({ thread: "warm", input: "x" });
    await expect.poll(() => meter.isQuiet).toBe(true);
    meter.trips.length = 0;
    expect(await runtime.run({ thread: "t", input: "x" })).toMatchObject({ status: "done", text: "two" });
    expect(settled).toHaveLength(2);
    expect(settled[1]?.length).toBeLessThanOrEqual(3);
  });

  test("at most 2 times in the foreground on a thread of its own", async () => {
    const schema = freshSchema();
    await using _owner = openPostgres(undefined, schema);
    const { store, meter, settled } = metered(schema);
    await using _store = store;
    await using runtime = open(store, false);
    await runtime.run({ input: "x" });
    await expect.poll(() => meter.isQuiet).toBe(true);
    meter.trips.length = 0;
    expect(await runtime.run({ input: "x" })).toMatchObject({ status: "done", text: "two" });
    expect(settled).toHaveLength(2);
    expect(settled[1]?.length).toBeLessThanOrEqual(2);
  });

  test("once when it is started on a thread of its own", async () => {
    const schema = freshSchema();
    await using _owner = openPostgres(undefined, schema);
    const { store, meter } = metered(schema);
    await using _store = store;
    await using runtime = open(store, false);
    await runtime.start({ input: "x" });
    await expect.poll(() => meter.isQuiet).toBe(true);
    meter.trips.length = 0;
    const { runId, threadId: thread } = await runtime.start({ input: "x" });
    expect(meter.trips).toHaveLength(1);
    expect(await store.runs.load(runId)).toMatchObject({ threadId: thread, status: "created" });
  });

  test("at most 4 times when a worker takes it out of the queue, from its claim to its last commit", async () => {
    const schema = freshSchema();
    await using owner = openPostgres(undefined, schema);
    const { store, meter, settled } = metered(schema);
    await using _store = store;
    await using worker = open(store, true, meter);
    await using talker = open(owner, false);
    const { runId: warm } = await talker.start({ thread: "warm", input: "x" });
    await talker.wait(warm);
    // It has looked for more, and found none.
    await expect.poll(() => settled.length === 1 && meter.isQuiet && meter.sleeps > meter.sleepsBefore).toBe(true);
    meter.trips.length = 0;
    const { runId } = await talker.start({ thread: "t", input: "hello" });
    expect(await talker.wait(runId)).toMatchObject({ status: "done", text: "two" });
    expect(settled).toHaveLength(2);
    expect(settled[1]?.length).toBeLessThanOrEqual(4);
    const said = (await owner.messages.list(threadId("t"), {})).items.map(({ message }) => messageText(message));
    expect(said).toEqual(["hello", "two"]);
    await worker.close();
  });
});
