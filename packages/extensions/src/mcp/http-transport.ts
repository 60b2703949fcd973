import type { Clock } from "@awaken/runtime";
import type { JSONRPCMessage, StreamableHTTPClientTransport, Transport, TransportSendOptions } from "@modelcontextprotocol/client";
import { InOrder } from "./in-order.ts";
import { limitBody } from "./limited-body.ts";
import type { Sdk } from "./load-sdk.ts";

export interface HttpInit {
  readonly url: string;
  readonly headers: Record<string, string>;
  /** The longest message. */
  readonly maxBytes: number;
  readonly clock: Clock;
  /** The server does not know the session any more, or its stream cannot be had again. */
  readonly onLost: (why: string) => void;
}

const RECONNECTION = { initialReconnectionDelay: 500, maxReconnectionDelay: 30_000, reconnectionDelayGrowFactor: 2, maxRetries: 3 };
const CLOSE_MS = 2_000;
const GAVE_UP = /Maximum reconnection attempts/;

/** Marks an error of ours in the place of an answer: servers have the code for errors of their own. */
export const NO_ANSWER = "awaken: there is no answer";

export const SESSION_EXPIRED = "session expired after request was accepted";

type RequestId = string | number;

const requestId = (message: JSONRPCMessage): RequestId | undefined => ("method" in message && "id" in message ? message.id : undefined);
const answeredId = (message: JSONRPCMessage): RequestId | undefined => ("method" in message ? undefined : message.id);

const isRefused = (thrown: unknown): boolean =>
  thrown instanceof Error && thrown.cause instanceof Error && "code" in thrown.cause && thrown.cause.code === "ECONNREFUSED";

/** The options that are there: the inner transport takes no `undefined`. */
const given = ({ resumptionToken, onresumptiontoken, requestSignal, headers }: TransportSendOptions = {}) => ({
  ...(resumptionToken === undefined ? {} : { resumptionToken }),
  ...(onresumptiontoken === undefined ? {} : { onresumptiontoken }),
  ...(requestSignal === undefined ? {} : { requestSignal }),
  ...(headers === undefined ? {} : { headers }),
});

/**
 * The client's Streamable HTTP transport, and what it leaves open: a request whose stream ended without an answer fails at once instead of
 * at its timeout, and a session that is gone is told apart by whether the server had accepted the request.
 */
export class HttpTransport implements Transport {
  onclose: (() => void) | undefined;
  onerror: ((error: Error) => void) | undefined;
  onmessage: Transport["onmessage"];
  readonly hasPerRequestStream = true;
  readonly #inner: StreamableHTTPClientTransport;
  readonly #init: HttpInit;
  /** Requests that the server took and did not answer. */
  readonly #accepted = new Set<RequestId>();
  readonly #order = new InOrder((message) => this.onmessage?.(message));

  constructor(sdk: Sdk, init: HttpInit) {
    this.#init = init;
    this.#inner = new sdk.StreamableHTTPClientTransport(new URL(init.url), {
      requestInit: { headers: init.headers },
      fetch: (url, request) => this.#fetch(url, request),
      reconnectionOptions: RECONNECTION,
      // Also a delay that the server asks for is no longer than this.
      reconnectionScheduler: (reconnect, delay) => init.clock.timer(Math.min(delay, RECONNECTION.maxReconnectionDelay), reconnect),
    });
    this.#inner.onmessage = (message) => {
      const id = answeredId(message);
      if (id !== undefined) this.#accepted.delete(id);
      this.#order.push(message);
    };
    this.#inner.onerror = (error) => {
      this.onerror?.(error);
      if (GAVE_UP.test(error.message)) init.onLost("the server's stream was lost and could not be opened again");
    };
    this.#inner.onclose = () => this.onclose?.();
  }

  get sessionId(): string | undefined {
    return this.#inner.sessionId;
  }

  setProtocolVersion(version: string): void {
    this.#inner.setProtocolVersion(version);
  }

  start(): Promise<void> {
    return this.#inner.start();
  }

  async #fetch(url: string | URL, request: RequestInit | undefined): Promise<Response> {
    const isStream = request?.method === "GET";
    const response = await fetch(url, request).catch((thrown: unknown) => {
      // Nobody is there any more: it makes no sense to ask for the rest of an answer.
      if (isStream && isRefused(thrown)) this.#failAccepted("the server is gone");
      throw thrown;
    });
    if (response.status === 404 && isStream && this.sessionId !== undefined) {
      this.#failAccepted(SESSION_EXPIRED);
      this.#init.onLost("the session expired");
    }
    return limitBody(response, this.#init.maxBytes);
  }

  async send(message: JSONRPCMessage, options?: TransportSendOptions): Promise<void> {
    const id = requestId(message);
    if (id === undefined) return this.#inner.send(message, given(options));
    this.#accepted.add(id);
    const onRequestStreamEnd = () => {
      options?.onRequestStreamEnd?.();
      this.#fail(id, "the server ended its answer before it was complete");
    };
    try {
      await this.#inner.send(message, { ...given(options), onRequestStreamEnd });
    } catch (thrown) {
      this.#accepted.delete(id);
      throw thrown;
    }
  }

  #failAccepted(why: string): void {
    for (const id of [...this.#accepted]) this.#fail(id, why);
  }

  #fail(id: RequestId, message: string): void {
    if (!this.#accepted.delete(id)) return;
    this.#order.push({ jsonrpc: "2.0", id, error: { code: -32_000, message, data: NO_ANSWER } });
  }

  /** Says goodbye to the session, but not for long. */
  async close(): Promise<void> {
    let stop = () => {};
    const late = new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, CLOSE_MS);
      stop = () => clearTimeout(timer);
    });
    await Promise.race([this.#inner.terminateSession().catch(() => {}), late]);
    stop();
    this.#failAccepted("the connection was closed");
    await this.#inner.close();
  }
}
