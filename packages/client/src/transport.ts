import { AwakenError, ERROR_TABLE, type ErrorCode, errorMessage } from "@awaken/contract";
import { type Answer, type Endpoint, endpoint } from "./endpoints.ts";

export interface ClientInit {
  /** Where the server is, such as `http://localhost:3000`; a path is kept, for one that is mounted in an application. */
  readonly url: string;
  /** The key of the caller, or a function that gives the one of today. Sent as `Authorization: Bearer`. */
  readonly token?: string | (() => string | Promise<string>);
  /** Sent with every request. */
  readonly headers?: Readonly<Record<string, string>>;
  /** `include`: a browser sends the cookies of the server's origin also from pages of another one. Default: the browser's, to its own origin alone. */
  readonly credentials?: "include" | "same-origin" | "omit";
  /** Default: the host's own. */
  readonly fetch?: (request: Request) => Promise<Response>;
}

export interface Asked {
  readonly ids?: Readonly<Record<string, string>>;
  readonly query?: Readonly<Record<string, unknown>> | undefined;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal | undefined;
}

/** Nobody answered: what was asked may have happened, or not. */
export const UNREACHABLE = "server_unreachable";
const RETRY_MS = [250, 500, 1_000, 2_000];
const MAX_TEXT = 500;

const isCode = (code: unknown): code is ErrorCode => typeof code === "string" && Object.hasOwn(ERROR_TABLE, code);

/** What the server says went wrong; one between us that speaks otherwise is quoted. */
export function toError(status: number, text: string): AwakenError {
  let said: unknown;
  try {
    said = JSON.parse(text);
  } catch {
    said = undefined;
  }
  const { error, code }: { readonly error?: unknown; readonly code?: unknown } = typeof said === "object" && said !== null ? said : {};
  if (typeof error === "string" && isCode(code)) return new AwakenError(code, error, { details: { status } });
  const message = `the server answered ${status} and not in our words: ${text.slice(0, MAX_TEXT)}`;
  return new AwakenError(status >= 500 || status === 429 ? UNREACHABLE : "internal", message, { details: { status } });
}

export function sleep(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const leave = () => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", leave);
      resolve();
    }, ms);
    if (signal?.aborted === true) leave();
    else signal?.addEventListener("abort", leave, { once: true });
  });
}

const readBase = (url: string): URL => {
  if (URL.canParse(url)) return new URL(url.endsWith("/") ? url : `${url}/`);
  throw new AwakenError("invalid_activation", `the url of a client must be absolute, such as http://localhost:3000, got '${url}'`);
};

/** Requests to one server. What it refuses is thrown with the code that the runtime would have thrown. */
export class Transport {
  readonly #base: URL;
  readonly #init: ClientInit;

  constructor(init: ClientInit) {
    this.#base = readBase(init.url);
    this.#init = init;
  }

  /** One request, and its answer when it went well. */
  async send(name: Endpoint, { ids = {}, query, body, headers, signal }: Asked): Promise<Response> {
    signal?.throwIfAborted();
    const { method, path } = endpoint(name, ids);
    const url = new URL(path.slice(1), this.#base);
    for (const [key, value] of Object.entries(query ?? {})) if (value !== undefined) url.searchParams.set(key, String(value));
    const { token, fetch = (request) => globalThis.fetch(request), headers: own, credentials } = this.#init;
    const key = typeof token === "function" ? await token() : token;
    const request = new Request(url, {
      method,
      headers: {
        ...own,
        ...(key === undefined ? undefined : { authorization: `Bearer ${key}` }),
        ...(body === undefined ? undefined : { "content-type": "application/json" }),
        ...headers,
      },
      ...(body === undefined ? undefined : { body: JSON.stringify(body) }),
      ...(signal === undefined ? undefined : { signal }),
      ...(credentials === undefined ? undefined : { credentials }),
    });
    const response = await fetch(request).catch((cause: unknown) => {
      signal?.throwIfAborted();
      throw new AwakenError(UNREACHABLE, `${this.#base.origin} cannot be reached: ${errorMessage(cause)}`, { cause });
    });
    if (response.ok) return response;
    throw toError(response.status, await response.text().catch(() => ""));
  }

  /** The server speaks the same table of routes: its answers are taken as they are. */
  async ask<Name extends Endpoint>(name: Name, asked: Asked = {}): Promise<Answer<Name>> {
    const response = await this.send(name, asked);
    return response.json().catch((cause: unknown) => {
      asked.signal?.throwIfAborted();
      throw new AwakenError(UNREACHABLE, `the answer of ${this.#base.origin} broke off: ${errorMessage(cause)}`, { cause });
    });
  }

  /** For what is answered with nothing. */
  async tell(name: Endpoint, asked: Asked = {}): Promise<void> {
    await (await this.send(name, asked)).body?.cancel();
  }

  /** The same, for what may be asked twice: tried again while nobody answers, or is told to come back. */
  insist<Name extends Endpoint>(name: Name, asked: Asked = {}): Promise<Answer<Name>> {
    return insist(() => this.ask(name, asked), asked.signal);
  }
}

/** A few times more, when it may pass by itself. */
export async function insist<T>(ask: () => Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  for (const waitMs of RETRY_MS) {
    try {
      return await ask();
    } catch (thrown) {
      if (!canPass(thrown)) throw thrown;
    }
    await sleep(waitMs, signal);
  }
  return ask();
}

const PASSING: ReadonlySet<ErrorCode> = new Set([UNREACHABLE, "server_busy", "shutting_down", "storage_io"]);

/** Whether a server that is restarted, or another one behind the same address, may answer. */
export const canPass = (thrown: unknown): boolean => AwakenError.is(thrown) && PASSING.has(thrown.code);
