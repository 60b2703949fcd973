import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { append, dispatch, runs, T1, user } from "../conformance/records.ts";
import { SELECT_NEXT } from "./claims.ts";
import { SELECT_DUE } from "./dispatch-queue.ts";
import { newcomer, readQueueState, selectQueueState } from "./dispatch-rows.ts";
import { createPool, type PgClient, type PgPool } from "./driver.ts";
import { SELECT_HEAD } from "./heads.ts";
import { postgresStore } from "./store.ts";
import { serverUrl } from "./test-server.ts";
import { dropSchema, freshSchema, runSql } from "./test-store.ts";

const KEYS = { thread: "thread_id", run: "run_id", dispatch: "dispatch_id", ledger: "idempotency_key", wish: "wish_id" };

let schema: string;
let pool: PgPool;
let client: PgClient;
beforeAll(async () => {
  schema = freshSchema();
  const url = await serverUrl();
  pool = await createPool({ url, connections: 1, connectTimeoutMs: 60_000, hasSessions: true });
  client = await pool.connect();
  await using store = postgresStore(url, { schema });
  await store.commit(append(0, [user("m1")], { run: runs.running() }));
});
afterAll(async () => {
  client.release();
  await pool.end();
  await dropSchema(schema);
});

/** What a statement that was prepared now would do from then on, whatever its parameters. */
async function planOf(text: string, parameters: number): Promise<string> {
  await client.query("SET plan_cache_mode = force_generic_plan");
  await client.query(`PREPARE asked AS ${text}`);
  const { rows } = await client.query(`EXPLAIN EXECUTE asked (${Array.from({ length: parameters }, () => "NULL").join(", ")})`);
  await client.query("DEALLOCATE asked");
  return rows.map((row) => row["QUERY PLAN"]).join("\n");
}

/** How many entries of an index were read until now. */
async function entriesRead(index: string): Promise<number> {
  await client.query("SELECT pg_stat_force_next_flush()");
  const { rows } = await client.query(
    `SELECT idx_tup_read AS n FROM pg_stat_user_indexes WHERE indexrelid = '${schema}.${index}'::regclass`,
  );
  return Number(rows[0]?.["n"]);
}

describe("a statement that is prepared while a table is almost empty, and kept while it grows", () => {
  test.each(Object.entries(KEYS))("finds a %s by its key", async (table, key) => {
    const find = `SELECT record FROM ${schema}.${table} WHERE scope_id = $1 AND ${key} = $2`;
    expect(await planOf(find, 2)).toContain(`${table}_pkey`);
    await runSql(`ANALYZE ${schema}.${table}`);
    expect(await planOf(find, 2)).toContain(`${table}_pkey`);
  });

  test.each([
    ["the head of a thread", SELECT_HEAD, 4],
    ["what a claim gives", SELECT_NEXT, 6],
  ])("finds %s by keys", async (_, text, parameters) => {
    for (const table of ["run", "message", "wish"]) {
      const plan = await planOf(text.replaceAll("~", `${schema}.`), parameters);
      expect(plan).not.toMatch(/run_status|run_age|Seq Scan on (run|message|wish|dispatch|event)/);
      expect(plan).toContain("run_pkey");
      expect(plan).toContain("message_pkey");
      await runSql(`ANALYZE ${schema}.${table}`);
    }
  });

  test("finds the large parts that a row names by their keys, however many there are", async () => {
    const hash = (number: number) => String(number).padStart(64, "0");
    const [{ scope_id: scope } = {}] = await runSql(`SELECT scope_id FROM ${schema}.thread`);
    await runSql(`INSERT INTO ${schema}.blob SELECT $1, lpad(n::text, 64, '0'), 'body ' || n FROM generate_series(1, 50) AS n`, [
      String(scope),
    ]);
    const before = await entriesRead("blob_pkey");
    const parts = [hash(7), hash(7), hash(8), hash(99)].join(" ");
    const { rows } = await client.query({ text: `SELECT ${schema}.bodies($1, $2) AS bodies`, values: [String(scope), parts] });
    expect(rows[0]?.["bodies"]).toEqual({ [hash(7)]: "body 7", [hash(8)]: "body 8", [hash(99)]: null });
    expect(await entriesRead("blob_pkey")).toBe(before + 2);
  });

  test("finds what is due without a look at what waits behind it", async () => {
    await using store = postgresStore(await serverUrl(), { schema });
    await store.dispatches.enqueue(dispatch("first"));
    await client.query("SET plan_cache_mode = force_generic_plan");
    await client.query(`PREPARE due AS ${SELECT_DUE.replaceAll("~", `${schema}.`)}`);
    const due = async () => (await client.query(`EXECUTE due (${2 ** 52}, 8, 4)`)).rows.length;
    expect(await due()).toBe(1);
    await runSql(`INSERT INTO ${schema}.dispatch SELECT scope_id, 'd' || n, 'of ' || n, status, priority, dedupe_key, epoch, available_at + n,
      lease_until, created_at, updated_at, record FROM ${schema}.dispatch, generate_series(1, 500) AS n`);
    for (const _ of ["as it was prepared", "as it is planned now"]) {
      const before = await entriesRead("dispatch_due");
      expect(await due()).toBe(4);
      expect((await entriesRead("dispatch_due")) - before).toBeLessThanOrEqual(9);
      await runSql(`ANALYZE ${schema}.dispatch`);
    }
    await client.query("DEALLOCATE due");
  });

  test("finds what a new dispatch stands behind without a look at what is over", async () => {
    await using store = postgresStore(await serverUrl(), { schema });
    const queued = await store.dispatches.enqueue(dispatch("last"));
    const { text, values } = selectQueueState(store.scopeId, T1, newcomer(dispatch("new")));
    await client.query("SET plan_cache_mode = force_generic_plan");
    const ask = { name: "state", text: text.replaceAll("~", `${schema}.`), values: [...values] };
    const newest = async () => readQueueState((await client.query(ask)).rows).newest();
    expect(await newest()).toEqual({ createdAt: queued.createdAt, dispatchId: "last", availableAt: queued.availableAt });
    await runSql(`INSERT INTO ${schema}.dispatch SELECT scope_id, 'over' || n, thread_id, 'acked', priority, dedupe_key, epoch, available_at,
      lease_until, created_at + n, updated_at, record FROM ${schema}.dispatch, generate_series(1, 500) AS n WHERE dispatch_id = 'last'`);
    const indexes = ["dispatch_order", "dispatch_queued", "dispatch_claim", "dispatch_due", "dispatch_pkey"];
    const read = async () => {
      let sum = 0;
      for (const index of indexes) sum += await entriesRead(index);
      return sum;
    };
    for (const _ of ["as it was prepared", "as it is planned now"]) {
      const before = await read();
      expect(await newest()).toMatchObject({ dispatchId: "last" });
      expect((await read()) - before).toBeLessThanOrEqual(4);
      await runSql(`ANALYZE ${schema}.dispatch`);
    }
  });

  test("moves a run by its key", async () => {
    const move = `UPDATE ${schema}.run SET status = $3 WHERE scope_id = $1 AND run_id = $2 AND updated_at = $4 AND status = $5`;
    expect(await planOf(move, 5)).toContain("run_pkey");
    await runSql(`ANALYZE ${schema}.run`);
    expect(await planOf(move, 5)).toContain("run_pkey");
  });
});

test("no index of runs looks into their records: a step that leaves the status writes none", async () => {
  const rows = await runSql("SELECT indexdef FROM pg_indexes WHERE schemaname = $1 AND tablename = 'run'", [schema]);
  expect(rows.length).toBeGreaterThan(0);
  expect(rows.filter((row) => String(row["indexdef"]).includes("record"))).toEqual([]);
});
