import { once } from "node:events";
import { connect, createServer, type Socket } from "node:net";
import { serverUrl } from "./test-server.ts";

/** The text of the query and its end: `READ COMMITTED` is none. */
const COMMIT = "COMMIT\0";

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
      if (mode !== "pass" && data.includes(COMMIT)) {
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
