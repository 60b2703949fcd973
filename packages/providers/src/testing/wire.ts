import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";

export interface WireRequest {
  readonly path: string;
  readonly headers: IncomingMessage["headers"];
  readonly body: unknown;
}

export interface Wire {
  readonly url: string;
  readonly requests: WireRequest[];
  /** Whether the client of an answer goes away before the answer is over; false when it stays. */
  clientLeaves(): Promise<boolean>;
  [Symbol.asyncDispose](): Promise<void>;
}

/** Long enough for anything on the loopback, so that what never happens fails by name and does not hang. */
const SOON_MS = 3000;

export async function soon<T>(promise: Promise<T>): Promise<T> {
  const never = Promise.withResolvers<never>();
  const timer = setTimeout(() => never.reject(new Error(`nothing happened for ${SOON_MS / 1000} s`)), SOON_MS);
  try {
    return await Promise.race([promise, never.promise]);
  } finally {
    clearTimeout(timer);
  }
}

async function readBody(message: IncomingMessage): Promise<unknown> {
  let body = "";
  for await (const chunk of message) body += String(chunk);
  return JSON.parse(body);
}

/** A server on the loopback that answers every request by hand. */
export async function openWire(answer: (response: ServerResponse, request: WireRequest) => void | Promise<void>): Promise<Wire> {
  const requests: WireRequest[] = [];
  const gone = Promise.withResolvers<void>();
  const server = createServer((message, response) => {
    response.on("close", () => {
      if (!response.writableFinished) gone.resolve();
    });
    readBody(message).then(async (body) => {
      const request = { path: message.url ?? "", headers: message.headers, body };
      requests.push(request);
      await answer(response, request);
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  const port = typeof address === "object" && address !== null ? address.port : 0;
  return {
    url: `http://127.0.0.1:${port}`,
    requests,
    clientLeaves: () => soon(gone.promise.then(() => true)).catch(() => false),
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}

export const SSE = { "content-type": "text/event-stream" };

/** One frame per value; objects with a `type` get an event name, as OpenAI and Anthropic send it. */
export function frames(...values: readonly object[]): string {
  return values
    .map(
      (value) => `${"type" in value && typeof value.type === "string" ? `event: ${value.type}\n` : ""}data: ${JSON.stringify(value)}\n\n`,
    )
    .join("");
}

export function sse(response: ServerResponse, ...values: readonly object[]): void {
  response.writeHead(200, SSE).end(frames(...values));
}

export function fail(response: ServerResponse, status: number, body: unknown, headers: Record<string, string> = {}): void {
  response.writeHead(status, { "content-type": "application/json", ...headers }).end(JSON.stringify(body));
}
