import { join } from "node:path";
import type { QueueStore } from "@awaken/contract/store";
import { postgresStore } from "@awaken/stores/postgres";
import { sqliteStore } from "@awaken/stores/sqlite";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { corpusRuntime, type World } from "./support/corpus-agent.ts";
import { copySqlite, corpusVersions, loadPostgres, readManifest, writePostgres, writeSqlite } from "./support/corpus-files.ts";
import { freshSchema, type Server, startServer, tempFolder } from "./support/databases.ts";
import { consumeQueue, finishApprovals, finishCut, goOnCompacted, readTheRest, workOffJobs } from "./support/finish-corpus.ts";
import { postgresTables, recordShapes, sqliteTables } from "./support/record-shapes.ts";
import { loadSchema } from "./support/sql-dump.ts";

let server: Server;
beforeAll(async () => {
  server = await startServer();
});
afterAll(() => server[Symbol.asyncDispose]());

const versions = corpusVersions();
const newest = versions.at(-1) ?? "";

/** Without dispatches: a run leaves the one that it was executed by, and the first versions made none. */
const recordsOf = (stats: object) => Object.fromEntries(Object.entries(stats).filter(([name]) => name !== "dispatches"));

async function expectFinishable(store: QueueStore, version: string): Promise<void> {
  expect(await store.stats()).toMatchObject(recordsOf(readManifest(version).stats));
  const world: World = new Map();
  await using runtime = corpusRuntime({ store, world });
  const opened = { store, runtime, world };
  await readTheRest(opened);
  await finishApprovals(opened);
  await finishCut(opened);
  await goOnCompacted(opened);
  await consumeQueue(opened);
  await workOffJobs(opened);
  expect(await store.runs.countByStatus()).toMatchObject({ running: 0, waiting: 0 });
}

describe.each(versions)(
  "records of %s are read, and everything in them is finished by the code of today",
  { timeout: 300_000 },
  (version) => {
    test("on SQLite", async () => {
      using folder = tempFolder();
      const file = join(folder.path, "old.db");
      copySqlite(version, file);
      await using store = sqliteStore(file);
      await expectFinishable(store, version);
    });

    test("on PostgreSQL", async () => {
      await using schema = freshSchema(server.url);
      await loadPostgres(version, server.url, schema.name);
      await using store = postgresStore(server.url, { schema: schema.name, connections: 4 });
      await expectFinishable(store, version);
    });

    test("their tables become those of a new store", async () => {
      using folder = tempFolder();
      const [old, fresh] = [join(folder.path, "old.db"), join(folder.path, "fresh.db")];
      copySqlite(version, old);
      for (const file of [old, fresh]) await sqliteStore(file).close();
      expect(sqliteTables(old)).toEqual(sqliteTables(fresh));

      await using oldSchema = freshSchema(server.url);
      await using newSchema = freshSchema(server.url);
      await loadPostgres(version, server.url, oldSchema.name);
      for (const { name } of [oldSchema, newSchema]) {
        await using store = postgresStore(server.url, { schema: name, connections: 2 });
        await store.threads.count({});
      }
      expect(await postgresTables(server.url, oldSchema.name)).toEqual(await postgresTables(server.url, newSchema.name));
    });
  },
);

describe("records of today", () => {
  test("have the fields and versions of the newest corpus; else they need a migration and a folder of their own", async () => {
    using folder = tempFolder();
    const [known, fresh] = [join(folder.path, "known.db"), join(folder.path, "fresh.db")];
    copySqlite(newest, known);
    const { stats } = await writeSqlite(fresh);
    expect(recordShapes(fresh)).toEqual(recordShapes(known));
    expect(recordsOf(stats)).toEqual(recordsOf(readManifest(newest).stats));
  });

  test("are the same on PostgreSQL, and can be loaded", async () => {
    await using schema = freshSchema(server.url);
    await loadSchema(server.url, schema.name, await writePostgres(server.url));
    await using store = postgresStore(server.url, { schema: schema.name, connections: 4 });
    await expectFinishable(store, newest);
  });
});
