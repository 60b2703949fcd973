import pg from "pg";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { append, T1, user } from "../conformance/records.ts";
import type { PgClient } from "./driver.ts";
import { type Statement, Statements, sendAll, sql } from "./statement.ts";
import { postgresStore } from "./store.ts";
import { serverUrl } from "./test-server.ts";
import { dropSchema, freshSchema, runSql } from "./test-store.ts";

const schema = freshSchema();
let pool: pg.Pool;
let client: pg.PoolClient;
beforeAll(async () => {
  pool = new pg.Pool({ connectionString: await serverUrl(), max: 1 });
  await runSql(`CREATE SCHEMA ${schema}`);
  await runSql(`CREATE TABLE ${schema}.row (id integer PRIMARY KEY, words text[], record json)`);
});
afterAll(async () => {
  await pool.end();
  await dropSchema(schema);
});
beforeEach(async () => {
  await runSql(`DELETE FROM ${schema}.row`);
});

const put = (id: number, words: readonly (string | null)[] = []): Statement =>
  sql("INSERT INTO ~row VALUES ($1, $2::text[], $3)", id, words, JSON.stringify({ id }));
const ids = sql("SELECT id FROM ~row WHERE id < $1 ORDER BY id", 100);

async function withClient<T>(work: (send: (...statements: readonly Statement[]) => ReturnType<typeof sendAll>) => Promise<T>): Promise<T> {
  client = await pool.connect();
  const asked: PgClient = client;
  const statements = new Statements(schema, true);
  try {
    return await work((...all) =>
      sendAll(
        asked,
        all.flatMap((statement) => statements.toQueries(statement)),
        () => {},
      ),
    );
  } finally {
    client.release();
  }
}

describe("statements that are sent together", () => {
  test("are answered one by one, the same one several times", () =>
    withClient(async (send) => {
      for (const first of [1, 4]) {
        const results = await send(put(first), ids, put(first + 1), ids, put(first + 2));
        expect(results.map(({ rows }) => rows.length)).toEqual([0, first, 0, first + 1, 0]);
      }
      expect((await send(ids))[0]?.rows).toEqual([1, 2, 3, 4, 5, 6].map((id) => ({ id })));
    }));

  test("are one transaction, of which nothing stays when one fails; and what was not reached is prepared the next time", () =>
    withClient(async (send) => {
      const read = sql("SELECT id, words, record FROM ~row WHERE id = $1", 7);
      await expect(send(put(7), put(7), read)).rejects.toMatchObject({ code: "23505" });
      expect((await send(ids))[0]?.rows).toEqual([]);
      expect((await send(read))[0]?.rows).toEqual([]);
      await expect(send(sql("SELECT nonsense WHERE $1 = 1", 1), put(8))).rejects.toMatchObject({ code: "42703" });
      const [, found] = await send(put(7), read);
      expect(found?.rows).toEqual([{ id: 7, words: [], record: { id: 7 } }]);
    }));

  test("carry any text in a list", () =>
    withClient(async (send) => {
      const words = ['a "b"', "c\\d", "{e,f}", "", "NULL", null, "g\nh", "ü"];
      const [, found] = await send(put(1, words), sql("SELECT words FROM ~row WHERE id = $1", 1));
      expect(found?.rows).toEqual([{ words }]);
    }));

  test("see what is there when each of them begins", () =>
    withClient(async (send) => {
      const [before, , after] = await send(ids, put(1), ids);
      expect([before?.rows, after?.rows]).toEqual([[], [{ id: 1 }]]);
    }));
});

test("stores and others share the connections of a pool, and what was prepared there", async () => {
  const names = [freshSchema(), freshSchema()];
  const stores = [...names, ...names].map((name) => postgresStore(pool, { schema: name, connections: 1 }));
  for (const [index, store] of stores.entries()) await store.commit(append(index < 2 ? 0 : 1, [user(`m${index}`)]));
  expect((await pool.query("SELECT 1 AS one")).rows).toEqual([{ one: 1 }]);
  for (const store of stores) expect(await store.messages.count(T1)).toBe(2);
  for (const name of names) await dropSchema(name);
});
