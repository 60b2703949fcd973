import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";

/** How a server that cannot keep a secret fails. */
export const LEAKS = ["401", "400", "429", "500 in HTML", "error frame", "malformed frame", "cut"] as const;
export type Leak = (typeof LEAKS)[number];

export interface Echo extends AsyncDisposable {
  readonly url: string;
  /** Keys that came, in order. */
  readonly keys: string[];
}

function keyIn({ headers }: IncomingMessage): string {
  const found = headers["x-api-key"] ?? headers["x-goog-api-key"] ?? headers.authorization?.replace(/^Bearer /, "");
  return Array.isArray(found) ? found.join() : (found ?? "");
}

function answer(response: ServerResponse, leak: Leak, key: string): void {
  const message = `the key ${key} (${encodeURIComponent(key)}) is not good here`;
  const error = { type: "error", sequence_number: 1, error: { type: "permission_error", code: 403, status: key, message } };
  const headers = { "x-echo": key, "set-cookie": `key=${key}`, "content-type": "application/json" };
  const stream = { ...headers, "content-type": "text/event-stream" };
  switch (leak) {
    case "500 in HTML":
      response.writeHead(500, { ...headers, "content-type": "text/html" }).end(`<h1>${message}</h1>`);
      return;
    case "error frame":
      response.writeHead(200, stream).end(`data: ${JSON.stringify(error)}\n\n`);
      return;
    case "malformed frame":
      response.writeHead(200, stream).end(`data: {"message": "${message}", oh no\n\n`);
      return;
    case "cut":
      response.writeHead(200, stream).write(`: ${key}\n\ndata: {"message": "${message}`, () => response.destroy());
      return;
    default:
      response.writeHead(Number(leak), { ...headers, "retry-after": "0" }).end(JSON.stringify(error));
  }
}

/** A server that tells everybody the key that it was given. */
export async function openEcho(leak: Leak): Promise<Echo> {
  const keys: string[] = [];
  const server = createServer((request, response) => {
    const key = keyIn(request);
    keys.push(key);
    request.resume().on("end", () => answer(response, leak, key));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  return {
    url: `http://127.0.0.1:${typeof address === "object" && address !== null ? address.port : 0}`,
    keys,
    async [Symbol.asyncDispose]() {
      server.close();
      server.closeAllConnections();
      await once(server, "close");
    },
  };
}
