import { threadId } from "@awaken/contract";
import pg from "pg";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { append, runs, T1, user } from "../conformance/records.ts";
import { MIGRATIONS, migrate } from "./migrations.ts";
import { postgresStore } from "./store.ts";
import { serverUrl } from "./test-server.ts";
import { dropSchema, freshSchema, runSql } from "./test-store.ts";

let schema: string;
let pool: pg.Pool;
beforeEach(async () => {
  schema = freshSchema();
  pool = new pg.Pool({ connectionString: await serverUrl(), max: 2 });
});
afterEach(async () => {
  await pool.end();
  await dropSchema(schema);
});

const STEPS = ["CREATE TABLE ~one (a int)", "CREATE TABLE ~two (b int); INSERT INTO ~one VALUES (1)", "ALTER TABLE ~one RENAME TO uno"];
const versionOf = async () => (await runSql(`SELECT version FROM ${schema}.awaken_version`))[0]?.["version"];
const tablesOf = async () =>
  (await runSql("SELECT tablename FROM pg_tables WHERE schemaname = $1 ORDER BY 1", [schema])).map((row) => row["tablename"]);

describe("migrations", () => {
  test.each(MIGRATIONS.map((_, number) => number))("from number %i a store opens, and works", async (number) => {
    await migrate(pool, schema, MIGRATIONS.slice(0, number));
    await using store = postgresStore(await serverUrl(), { schema });
    await store.commit(append(0, [user("m1")], { run: runs.running() }));
    expect(await store.stats()).toMatchObject({ threads: 1, messages: 1 });
  });

  test.each([0, 1, 2, 3])("steps after number %i are done once, in their order", async (number) => {
    await migrate(pool, schema, STEPS.slice(0, number));
    await migrate(pool, schema, STEPS);
    await migrate(pool, schema, STEPS);
    expect(await versionOf()).toBe(3);
    expect(await tablesOf()).toEqual(["awaken_version", "two", "uno"]);
    expect(await runSql(`SELECT a FROM ${schema}.uno`)).toHaveLength(1);
  });

  test("a step that fails leaves the schema at its number, with nothing of it", async () => {
    await migrate(pool, schema, STEPS.slice(0, 1));
    await expect(migrate(pool, schema, [...STEPS.slice(0, 2), "SELECT nonsense"])).rejects.toMatchObject({ code: "storage_io" });
    expect(await versionOf()).toBe(1);
    expect(await tablesOf()).toEqual(["awaken_version", "one"]);
  });

  test("a step that a program at work is in the way of is done again, with those before it", async () => {
    await migrate(pool, schema, STEPS.slice(0, 1));
    // A sequence is not rolled back.
    await runSql(`CREATE SEQUENCE ${schema}.tries`);
    const refusedTwice = `DO $$ BEGIN IF nextval('~tries') < 3 THEN
      RAISE EXCEPTION 'both wait for each other' USING ERRCODE = 'deadlock_detected'; END IF; END $$`;
    await migrate(pool, schema, [...STEPS.slice(0, 2), refusedTwice]);
    expect(await versionOf()).toBe(3);
    expect(await runSql(`SELECT a FROM ${schema}.one`)).toHaveLength(1);
  });

  test("a number past the last one is storage_too_new, at each call, and nothing changes", async () => {
    await migrate(pool, schema);
    await runSql(`UPDATE ${schema}.awaken_version SET version = 99`);
    await using store = postgresStore(await serverUrl(), { schema });
    for (let call = 0; call < 2; call++) await expect(store.threads.load(T1)).rejects.toMatchObject({ code: "storage_too_new" });
    expect(await versionOf()).toBe(99);
    await runSql(`UPDATE ${schema}.awaken_version SET version = ${MIGRATIONS.length}`);
    expect(await store.threads.load(T1)).toBeUndefined();
  });

  test.each(["read committed", "repeatable read"])("ten nodes may start at once, where %s is the default", async (isolation) => {
    const url = new URL(await serverUrl());
    url.searchParams.set("options", `-c default_transaction_isolation=${isolation.replace(" ", "\\ ")}`);
    const nodes = Array.from({ length: 10 }, () => postgresStore(url.href, { schema, connections: 1 }));
    await Promise.all(nodes.map((node, index) => node.commit({ ...append(0, [user("m1")]), threadId: threadId(`t${index}`) })));
    expect(await nodes[0]?.threads.count({})).toBe(10);
    await Promise.all(nodes.map((node) => node.close()));
  });

  test("a schema that was made beforehand is taken", async () => {
    await runSql(`CREATE SCHEMA ${schema}`);
    await using store = postgresStore(await serverUrl(), { schema });
    expect(await store.threads.count({})).toBe(0);
  });

  test.each(["", "a b", "a;b", 'a"b', "A", "1a", "x".repeat(60), "pg.a"])("%s is no name for a schema", (name) => {
    expect(() => postgresStore("postgres://localhost/x", { schema: name })).toThrow(
      expect.objectContaining({ code: "storage_validation" }),
    );
  });
});
