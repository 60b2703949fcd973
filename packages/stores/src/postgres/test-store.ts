import { randomBytes } from "node:crypto";
import { DEFAULT_SCOPE, type JsonObject, type ScopeId, scopeId, type ThreadId, threadId } from "@awaken/contract";
import type { QueueStore } from "@awaken/contract/store";
import pg from "pg";
import { afterAll } from "vitest";
import type { ConformanceHooks, StoredRow } from "../conformance/world.ts";
import { textOf } from "../sql/rows.ts";
import { damaged, placeOf } from "../sql/test-damage.ts";
import { type PostgresStoreOptions, postgresStore } from "./store.ts";
import { serverUrl } from "./test-server.ts";

// Stores in schemas of their own, for tests.

export const freshSchema = (): string => `test_${randomBytes(8).toString("hex")}`;

/** For what a store has no method for. */
export async function runSql(text: string, values: readonly unknown[] = []): Promise<readonly { readonly [column: string]: unknown }[]> {
  const client = new pg.Client(await serverUrl());
  await client.connect();
  try {
    return (await client.query(text, [...values])).rows;
  } finally {
    await client.end();
  }
}

export const dropSchema = (schema: string): Promise<unknown> => runSql(`DROP SCHEMA IF EXISTS ${schema} CASCADE`);

interface TestSchema {
  readonly schema: string;
  readonly inner: QueueStore;
}

const schemas = new WeakMap<QueueStore, TestSchema>();

function testSchemaOf(store: QueueStore): TestSchema {
  const found = schemas.get(store);
  if (found === undefined) throw new Error("not a store of this test");
  return found;
}

export const schemaOf = (store: QueueStore): string => testSchemaOf(store).schema;

/** Schemas of tests that are over, with their tables and no row: that is cheaper than to make and drop them for each test. */
const emptied: string[] = [];
afterAll(async () => {
  for (const schema of emptied.splice(0)) await dropSchema(schema);
});

async function empty(schema: string): Promise<void> {
  await runSql(`DO $$ DECLARE name text; BEGIN
    FOR name IN SELECT tablename FROM pg_tables WHERE schemaname = '${schema}' AND tablename <> 'awaken_version' LOOP
      EXECUTE format('DELETE FROM ${schema}.%I', name);
    END LOOP;
  END $$`);
  emptied.push(schema);
}

async function closing({ schema, inner }: TestSchema): Promise<QueueStore> {
  const close = async () => {
    await inner.close();
    // Once, and not by a handle that was opened anew since.
    if (schemas.delete(own)) await empty(schema);
  };
  const own = { ...inner, close, [Symbol.asyncDispose]: close };
  schemas.set(own, { schema, inner });
  await warmUp(inner);
  return own;
}

/** In a schema that nobody else uses. */
export async function openTestStore(options: Omit<PostgresStoreOptions, "schema"> = {}): Promise<QueueStore> {
  const schema = emptied.pop() ?? freshSchema();
  return closing({ schema, inner: postgresStore(await serverUrl(), { connections: 4, ...options, schema }) });
}

/** Another process on the same data. */
export const openTestPeer = async (store: QueueStore, options: Omit<PostgresStoreOptions, "schema"> = {}): Promise<QueueStore> =>
  postgresStore(await serverUrl(), { connections: 4, ...options, schema: schemaOf(store) });

let tenants = 0;
/** One that no test of the file had before. */
export const freshTenant = (): ScopeId => scopeId(`tenant-${++tenants}`);

export const threadIds = (count: number): readonly ThreadId[] => Array.from({ length: count }, (_, index) => threadId(`t${index}`));

/** As after the end of a process: nothing is left but the schema. */
async function reopenTestStore(store: QueueStore, clock: () => number): Promise<QueueStore> {
  const { schema, inner } = testSchemaOf(store);
  schemas.delete(store);
  await inner.close();
  return closing({ schema, inner: postgresStore(await serverUrl(), { connections: 4, clock, schema }) });
}

/** Connected and migrated, so that tests of what happens at the same time do not wait for that. */
async function warmUp(store: QueueStore): Promise<QueueStore> {
  await Promise.all([store.threads.count({}), store.threads.count({})]);
  return store;
}

async function damage(store: QueueStore, row: StoredRow, fields: JsonObject): Promise<void> {
  const at = placeOf(row);
  const { table, key, column = "record" } = at;
  const where = `WHERE ${["scope_id", ...Object.keys(key)].map((name, index) => `${name} = $${index + 1}`).join(" AND ")}`;
  const values = [DEFAULT_SCOPE, ...Object.values(key)];
  const name = `${schemaOf(store)}.${table}`;
  const [found] = await runSql(`SELECT ${column}::text AS json FROM ${name} ${where}`, values);
  if (found === undefined) throw new Error(`no ${row.type} to damage`);
  await runSql(`UPDATE ${name} SET ${column} = $${values.length + 1} ${where}`, [...values, damaged(textOf(found, "json"), at, fields)]);
}

export const hooks: ConformanceHooks<QueueStore> = {
  reopen: reopenTestStore,
  hearsPeers: true,
  corrupt: damage,
  openPeer: async (store, clock) => warmUp(await openTestPeer(store, { clock })),
};
