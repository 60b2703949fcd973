import { once } from "node:events";
import { connect, createServer, type Server, type Socket } from "node:net";
import { serverUrl } from "./test-server.ts";

/** A statement that is prepared by name, and ends a transaction that began or is the first of one that needs no end. */
const COMMITTING = /(awaken_[0-9a-f]{24})\0(?:COMMIT\0|[^\0]*set_config\('awaken\.locked)/g;

export interface Proxy {
  readonly url: string;
  /** The next COMMIT reaches the server, but its answer is lost with the connection. */
  loseAnswerToCommit(): void;
  /** The next COMMIT is lost with the connection, before the server has it. */
  loseCommit(): void;
  /** The next connection that takes the lock of a thread sends nothing more after that. Settled when it has the lock. */
  stopAfterLock(): Promise<void>;
  close(): Promise<void>;
}

/** Knows what ends a transaction, also when it is asked for again by its name. */
function commitSeer(): (data: Buffer) => boolean {
  const names = new Set<string>();
  return (data) => {
    for (const [, name = ""] of data.toString("latin1").matchAll(COMMITTING)) names.add(name);
    return [...names].some((name) => data.includes(name));
  };
}

/** Gives the URL of the server in the place of the target's. */
async function listen(server: Server, target: URL): Promise<string> {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  const url = new URL(target);
  url.port = String(typeof address === "object" ? address?.port : "");
  return url.href;
}

/** Stands between a store and the server, and breaks connections where it hurts. */
export async function startProxy(): Promise<Proxy> {
  const target = new URL(await serverUrl());
  let mode: "pass" | "lose-answer" | "lose-commit" = "pass";
  const sockets = new Set<Socket>();
  const isCommit = commitSeer();

  let stopping: PromiseWithResolvers<void> | undefined;

  const server = createServer((client) => {
    let stopped: PromiseWithResolvers<void> | undefined;
    const upstream = connect(Number(target.port), target.hostname);
    let isMuted = false;
    const end = () => {
      client.destroy();
      upstream.destroy();
    };
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      socket.on("error", end).on("close", end);
    }
    client.on("data", (data) => {
      if (isCommit(data) && mode !== "pass") {
        const isLost = mode === "lose-commit";
        mode = "pass";
        if (isLost) return end();
        isMuted = true;
        upstream.write(data);
        // Long enough for the server to be through with it.
        setTimeout(end, 200);
        return;
      }
      if (stopped !== undefined) return;
      if (data.includes("SELECT pg_advisory_xact_lock")) [stopped, stopping] = [stopping, undefined];
      upstream.write(data);
    });
    upstream.on("data", (data) => {
      if (!isMuted) client.write(data);
      stopped?.resolve();
    });
  });
  return {
    url: await listen(server, target),
    loseAnswerToCommit: () => {
      mode = "lose-answer";
    },
    loseCommit: () => {
      mode = "lose-commit";
    },
    stopAfterLock: () => {
      stopping = Promise.withResolvers<void>();
      return stopping.promise;
    },
    async close() {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, "close");
    },
  };
}
