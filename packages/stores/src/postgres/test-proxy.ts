import { once } from "node:events";
import { connect, createServer, type Socket } from "node:net";
import { serverUrl } from "./test-server.ts";

/** A statement that is prepared by name, and ends a transaction that began or is the first of one that needs no end. */
const COMMITTING = /(awaken_[0-9a-f]{24})\0(?:COMMIT\0|[^\0]*set_config\('awaken\.locked)/g;

export interface Proxy {
  readonly url: string;
  /** The next COMMIT reaches the server, but its answer is lost with the connection. */
  loseAnswerToCommit(): void;
  /** The next COMMIT is lost with the connection, before the server has it. */
  loseCommit(): void;
  close(): Promise<void>;
}

/** Stands between a store and the server, and breaks connections where it hurts. */
export async function startProxy(): Promise<Proxy> {
  const target = new URL(await serverUrl());
  let mode: "pass" | "lose-answer" | "lose-commit" = "pass";
  const sockets = new Set<Socket>();
  const names = new Set<string>();
  const isCommit = (data: Buffer): boolean => {
    for (const [, name = ""] of data.toString("latin1").matchAll(COMMITTING)) names.add(name);
    return [...names].some((name) => data.includes(name));
  };

  const server = createServer((client) => {
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
      upstream.write(data);
    });
    upstream.on("data", (data) => {
      if (!isMuted) client.write(data);
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  const url = new URL(target);
  url.port = String(typeof address === "object" ? address?.port : "");
  return {
    url: url.href,
    loseAnswerToCommit: () => {
      mode = "lose-answer";
    },
    loseCommit: () => {
      mode = "lose-commit";
    },
    async close() {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, "close");
    },
  };
}
