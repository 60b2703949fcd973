import { Agent, type ClientRequest, type IncomingMessage, request as overHttp } from "node:http";
import { request as overTls, Agent as TlsAgent } from "node:https";
import type { LookupFunction } from "node:net";
import { formatSSEEvent, parseSseStream, StreamResponse } from "@a2a-js/sdk";
import { AwakenError, errorMessage } from "@awaken/contract";
import type { Addresses } from "./addresses.ts";

interface LinkInit {
  readonly addresses: Addresses;
  /** Sent to the origin that it is for, and to no other. */
  readonly auth: { readonly origin: string; readonly token: string } | undefined;
  readonly maxBytes: number;
}

/** Requests of one exchange, over connections of its own. */
export interface Link {
  readonly fetch: typeof fetch;
  /** Ends every connection, whatever is under way on it. */
  close(): void;
}

/** Nobody answered, or the answer broke off: it may work another time. */
export class Unreachable extends Error {}

const refuse = (message: string): AwakenError => new AwakenError("remote_failed", `remote error: ${message}`);

const unreachable = (thrown: unknown): Error =>
  AwakenError.is(thrown) ? refuse(thrown.message) : new Unreachable(errorMessage(thrown), { cause: thrown });

/** Only what may be asked is connected to: names are looked up here, once, and the connection goes to what was found. */
const lookUpWith =
  (addresses: Addresses): LookupFunction =>
  (host, options, done) => {
    addresses.lookUp(host).then(
      (found) => {
        const [first] = found;
        if (options.all === true) done(null, [...found]);
        else if (first === undefined) done(new Error(`${host} has no address`), "");
        else done(null, first.address, first.family);
      },
      (thrown: Error) => done(thrown, ""),
    );
  };

async function* limited(response: IncomingMessage, maxBytes: number): AsyncGenerator<Uint8Array> {
  let bytes = 0;
  try {
    for await (const chunk of response) {
      bytes += chunk.length;
      if (bytes > maxBytes) throw refuse(`the agent sent more than ${maxBytes} bytes`);
      yield chunk;
    }
  } catch (thrown) {
    throw AwakenError.is(thrown) ? thrown : unreachable(thrown);
  }
}

/** What is not wanted any more is not read to its end. */
function toStream(chunks: AsyncGenerator<Uint8Array>): ReadableStream<Uint8Array> {
  return new ReadableStream({
    async pull(controller) {
      const { done, value } = await chunks.next();
      if (done) controller.close();
      else controller.enqueue(value);
    },
    async cancel() {
      await chunks.return(undefined);
    },
  });
}

/** The client prints an event that it cannot read, whatever it holds: it is not handed one. */
async function* readable(events: Response): AsyncGenerator<Uint8Array> {
  const encoder = new TextEncoder();
  for await (const { type, data } of parseSseStream(events)) {
    let value: unknown;
    try {
      value = JSON.parse(data);
      if (type !== "error") StreamResponse.fromJSON(value);
    } catch {
      throw refuse("the agent's stream has an event that cannot be read");
    }
    const head = type === "error" ? "event: error\n" : "";
    yield encoder.encode(head + formatSSEEvent(value));
  }
}

function toResponse(answer: IncomingMessage, maxBytes: number): Response {
  const { statusCode: status = 500, statusMessage: statusText = "" } = answer;
  const headers = new Headers();
  for (const [name, value] of Object.entries(answer.headers)) if (value !== undefined) headers.set(name, String(value));
  if (status === 204 || status === 304) {
    answer.resume();
    return new Response(null, { status, statusText, headers });
  }
  const init = { status, statusText, headers };
  const body = new Response(toStream(limited(answer, maxBytes)), init);
  const isEvents = status === 200 && (headers.get("content-type")?.startsWith("text/event-stream") ?? false);
  return isEvents ? new Response(toStream(readable(body)), init) : body;
}

function answerTo(request: ClientRequest, body: string | undefined): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    request.on("error", (thrown) => reject(unreachable(thrown)));
    request.on("response", resolve);
    request.end(body);
  });
}

/** A `fetch` that asks nobody who may not be asked, follows no redirect, and reads no more than it may. */
export function openLink({ addresses, auth, maxBytes }: LinkInit): Link {
  const agents = { http: new Agent({ keepAlive: true }), https: new TlsAgent({ keepAlive: true }) };
  const lookup = lookUpWith(addresses);
  const ask: typeof fetch = async (input, { method = "GET", headers: given, signal, body } = {}) => {
    const url = new URL(input instanceof Request ? input.url : input);
    try {
      addresses.checkHost(url);
    } catch (thrown) {
      throw unreachable(thrown);
    }
    const headers = Object.fromEntries(new Headers(given));
    if (auth?.origin === url.origin) headers["authorization"] = `Bearer ${auth.token}`;
    const init = { method, headers, lookup, ...(signal ? { signal } : undefined) };
    const request =
      url.protocol === "https:" ? overTls(url, { ...init, agent: agents.https }) : overHttp(url, { ...init, agent: agents.http });
    const answer = await answerTo(request, typeof body === "string" ? body : undefined);
    const { statusCode: status = 0 } = answer;
    if (status >= 300 && status < 400) {
      answer.destroy();
      throw refuse(`${url.origin} answers with a redirect, which is not followed`);
    }
    return toResponse(answer, maxBytes);
  };
  return {
    fetch: ask,
    close() {
      agents.http.destroy();
      agents.https.destroy();
    },
  };
}
