import { copyFileSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import type { StoreStats } from "@awaken/contract/store";
import { countingIds } from "@awaken/runtime/testing";
import { postgresStore } from "@awaken/stores/postgres";
import { sqliteStore } from "@awaken/stores/sqlite";
import { BLOB_BYTES, tickingClock, writeCorpus } from "./corpus-records.ts";
import { freshSchema } from "./databases.ts";
import { dumpSchema, loadSchema, recordingPool } from "./sql-dump.ts";

const FOLDER = join(import.meta.dirname, "..", "..", "..", "packages", "stores", "corpus");

/** Names without `.db`: such files are nobody's, and git leaves them out. */
const SQLITE = "sqlite.corpus";
const POSTGRES = "postgres.sql";
const MANIFEST = "manifest.json";

export interface Manifest {
  /** Rows of the store, as it counts them itself. */
  readonly stats: Omit<StoreStats, "bytes">;
}

export const corpusVersions = (): readonly string[] =>
  readdirSync(FOLDER)
    .filter((name) => /^v\d+$/.test(name))
    .sort((a, b) => Number(a.slice(1)) - Number(b.slice(1)));

export const readManifest = (version: string): Manifest => JSON.parse(readFileSync(join(FOLDER, version, MANIFEST), "utf8"));

export const copySqlite = (version: string, file: string): void => copyFileSync(join(FOLDER, version, SQLITE), file);

export const loadPostgres = (version: string, url: string, schema: string): Promise<void> =>
  loadSchema(url, schema, readFileSync(join(FOLDER, version, POSTGRES), "utf8"));

const options = () => {
  const clock = tickingClock();
  return { clock, store: { clock: () => clock.now(), ids: countingIds("row"), blobBytes: BLOB_BYTES } };
};

/** Today's records, in a file of their own. */
export async function writeSqlite(file: string): Promise<Manifest> {
  const { clock, store: given } = options();
  await using store = sqliteStore(file, given);
  await writeCorpus({ store, clock });
  const { bytes: _, ...stats } = await store.stats();
  return { stats };
}

/** The same in a schema of a server; gives it as text. */
export async function writePostgres(url: string): Promise<string> {
  const { clock, store: given } = options();
  await using schema = freshSchema(url);
  const { pool, made } = recordingPool(url);
  try {
    await using store = postgresStore(pool, { ...given, schema: schema.name });
    await writeCorpus({ store, clock });
    return await dumpSchema(url, schema.name, made);
  } finally {
    await pool.end();
  }
}

/** What is in a folder never changes: a version that exists is not written again. */
export async function makeVersion(version: string, url: string): Promise<string> {
  const folder = join(FOLDER, version);
  if (!/^v[1-9]\d*$/.test(version)) throw new Error(`a version is v1, v2, …, not '${version}'`);
  if (existsSync(folder)) throw new Error(`${folder} exists: old records are never changed, add the next version`);
  mkdirSync(folder, { recursive: true });
  const file = join(folder, SQLITE);
  const manifest = await writeSqlite(file);
  const db = new DatabaseSync(file);
  db.exec("PRAGMA journal_mode = DELETE; VACUUM");
  db.close();
  writeFileSync(join(folder, POSTGRES), await writePostgres(url));
  writeFileSync(join(folder, MANIFEST), `${JSON.stringify(manifest, null, 2)}\n`);
  return folder;
}
