import { once } from "node:events";
import { createServer, type IncomingMessage, request as open, type ServerResponse } from "node:http";
import { isJsonObject, type JsonObject, type JsonValue } from "@awaken/contract";
import { type ChatCompletionRequest, type FixtureResponse, LLMock } from "@copilotkit/aimock";
import { type Fault, type Reply, send } from "./faults.ts";
import { type Random, random } from "./random.ts";
import { type VendorName, vendorOfPath } from "./vendors.ts";

/** One request as it reached the server. */
export interface WireRequest {
  readonly vendor: VendorName;
  readonly path: string;
  readonly body: JsonObject;
}

export type ChooseFault = (request: WireRequest) => Fault | undefined;

/** A model API on the loopback: aimock speaks the vendors' wire formats, and what stands before it breaks them. */
export interface Wire extends AsyncDisposable {
  readonly url: string;
  readonly requests: WireRequest[];
  /** Called once per request, when it is about to be answered. */
  chooseFault: ChooseFault;
  /** Ends every connection, also those in the middle of an answer, and listens no more. */
  die(): Promise<void>;
  /** Listens again, at the same address. */
  revive(): Promise<void>;
}

const HOST = "127.0.0.1";

async function readAll(message: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of message) chunks.push(Buffer.from(chunk));
  return Buffer.concat(chunks);
}

function readBody(bytes: Buffer): JsonObject {
  const body: JsonValue = JSON.parse(bytes.toString("utf8"));
  if (!isJsonObject(body)) throw new TypeError("a request without a JSON object");
  return body;
}

/** On a connection of its own: a kept one that aimock just closed would be a fault that nobody chose. */
async function forward(base: string, message: IncomingMessage, body: Buffer): Promise<Reply> {
  const { host: _, connection: __, ...headers } = message.headers;
  const upstream = open(new URL(message.url ?? "/", base), { method: message.method ?? "POST", headers, agent: false });
  upstream.end(body);
  const [answer]: IncomingMessage[] = await once(upstream, "response");
  if (answer === undefined) throw new Error("no response");
  return { status: answer.statusCode ?? 502, type: answer.headers["content-type"] ?? "", body: await readAll(answer) };
}

export async function openWire(play: (request: ChatCompletionRequest) => FixtureResponse, dice: Random = random(1)): Promise<Wire> {
  const mock = new LLMock({ port: 0, host: HOST, chunkSize: 10, journalMaxEntries: 1 });
  mock.on({}, play);
  await mock.start();
  const requests: WireRequest[] = [];
  const answer = async (message: IncomingMessage, response: ServerResponse) => {
    const bytes = await readAll(message);
    const path = message.url ?? "";
    const request: WireRequest = { vendor: vendorOfPath(path), path, body: readBody(bytes) };
    requests.push(request);
    await send(response, await forward(mock.url, message, bytes), wire.chooseFault(request), dice);
  };
  const server = createServer((message, response) => {
    answer(message, response).catch(() => response.destroy());
  });
  server.keepAliveTimeout = 0; // never: a client may reuse a connection at any time
  const listen = async (port: number): Promise<number> => {
    server.listen(port, HOST);
    await once(server, "listening");
    const address = server.address();
    return typeof address === "object" && address !== null ? address.port : 0;
  };
  const port = await listen(0);
  const die = async (): Promise<void> => {
    if (!server.listening) return;
    const closed = once(server, "close");
    server.close();
    server.closeAllConnections();
    await closed;
  };
  const wire: Wire = {
    url: `http://${HOST}:${port}`,
    requests,
    chooseFault: () => undefined,
    die,
    revive: async () => void (await listen(port)),
    async [Symbol.asyncDispose]() {
      await die();
      await mock.stop();
    },
  };
  return wire;
}
