import { AwakenError, ERROR_TABLE, type ErrorCode, errorMessage } from "@awaken/contract";
import { type Answer, type Endpoint, endpoint } from "./endpoints.ts";
import { insist, type Patience, readRetryAfter, UNREACHABLE } from "./patience.ts";

export interface ClientInit {
  /** Where the server is, such as `http://localhost:3000`; a path is kept, for one that is mounted in an application. */
  readonly url: string;
  /** The key of the caller, or a function that gives the one of today. Sent as `Authorization: Bearer`. */
  readonly token?: string | (() => string | Promise<string>);
  /** Sent with every request. */
  readonly headers?: Readonly<Record<string, string>>;
  /** `include`: a browser sends the cookies of the server's origin also from pages of another one. Default: the browser's, to its own origin alone. */
  readonly credentials?: "include" | "same-origin" | "omit";
  /** How long the server may take to begin an answer before it counts as unreachable. Default two minutes: it gives up itself after one. */
  readonly timeoutMs?: number;
  /** Default: the host's own. */
  readonly fetch?: (request: Request) => Promise<Response>;
}

export interface Asked {
  readonly ids?: Readonly<Record<string, string>>;
  readonly query?: Readonly<Record<string, unknown>> | undefined;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal | undefined;
  /** How long the server may hold the question, which it was asked to do: it has so much longer. */
  readonly heldMs?: number;
}

const MAX_TEXT = 500;
const ANSWER_MS = 120_000;
/** A timer that is given more fires at once. */
const MAX_TIMER_MS = 2 ** 31 - 1;

const isCode = (code: unknown): code is ErrorCode => typeof code === "string" && Object.hasOwn(ERROR_TABLE, code);

/** What the server says went wrong; one between us that speaks otherwise is quoted. */
export function toError(status: number, text: string, retryAfterMs?: number): AwakenError {
  let said: unknown;
  try {
    said = JSON.parse(text);
  } catch {
    said = undefined;
  }
  const { error, code }: { readonly error?: unknown; readonly code?: unknown } = typeof said === "object" && said !== null ? said : {};
  const details = { status, ...(retryAfterMs === undefined ? undefined : { retryAfterMs }) };
  if (typeof error === "string" && isCode(code)) return new AwakenError(code, error, { details });
  const message = `the server answered ${status} and not in our words: ${text.slice(0, MAX_TEXT)}`;
  return new AwakenError(status >= 500 || status === 429 ? UNREACHABLE : "internal", message, { details });
}

function readBase(url: string): URL {
  const refuse = (why: string) => new AwakenError("invalid_activation", `the url of a client ${why}`);
  const base = URL.canParse(url) ? new URL(url) : undefined;
  if (base === undefined || !/^https?:$/.test(base.protocol)) {
    throw refuse(`must be absolute, such as http://localhost:3000, got '${url.replace(/\/\/.*@/, "//…@")}'`);
  }
  // They would be in errors and logs, and no request can be made of such a url.
  if (base.username !== "" || base.password !== "") throw refuse("may have no name and password in it: give `token` or `headers`");
  base.search = base.hash = "";
  if (!base.pathname.endsWith("/")) base.pathname += "/";
  return base;
}

const TOKEN = /^[\x21-\x7e]+$/;

/** What cannot be a header is refused without a word of what it is: it may be a key. */
function checkHeaders(headers: Readonly<Record<string, string>> = {}): void {
  for (const [name, value] of Object.entries(headers)) {
    try {
      new Headers([[name, value]]);
    } catch {
      throw new AwakenError("invalid_activation", `the header '${name}' of a client has a name or a value that no request can have`);
    }
  }
}

function checkTimeout(ms = ANSWER_MS): void {
  if (ms > 0) return;
  throw new AwakenError("invalid_activation", `the timeoutMs of a client must be above 0, got ${ms}; Infinity is for one who waits`);
}

/** An answer that says that the server is elsewhere. It is not followed: the key is for this one, and so is what was said. */
function elsewhere(base: URL, { headers, status }: Response): AwakenError {
  const location = headers.get("location");
  const place = location !== null && URL.canParse(location, base) ? ` ${new URL(location, base).origin}` : "";
  const message = `${base.origin} says that it is elsewhere:${place || " it does not say where"}. Give the client that address as \`url\``;
  return new AwakenError("internal", message, { details: { status } });
}

const MIN_SECRET = 8;

/** Somebody between may quote what he was sent, and errors are logged: neither the key nor a header of the caller's is in them. */
function withoutSecrets(text: string, request: Request, own: Readonly<Record<string, string>> = {}): string {
  const key = request.headers.get("authorization")?.replace(/^Bearer /, "") ?? "";
  const secrets = [key, ...Object.values(own)].filter(({ length }) => length >= MIN_SECRET);
  return secrets.reduce((said, secret) => said.replaceAll(secret, "…"), text);
}

async function refusalOf(base: URL, response: Response, tellable: (text: string) => string): Promise<AwakenError> {
  const { status, type, headers } = response;
  if (type === "opaqueredirect" || (status >= 300 && status < 400)) return elsewhere(base, response);
  return toError(status, tellable(await response.text().catch(() => "")), readRetryAfter(headers));
}

/** Requests to one server. What it refuses is thrown with the code that the runtime would have thrown. */
export class Transport {
  readonly #base: URL;
  readonly #init: ClientInit;

  constructor(init: ClientInit) {
    this.#base = readBase(init.url);
    checkHeaders(init.headers);
    checkTimeout(init.timeoutMs);
    this.#init = init;
  }

  async #authorization(): Promise<{ readonly authorization: string } | undefined> {
    const { token } = this.#init;
    const key = (typeof token === "function" ? await token() : token)?.trim();
    if (key === undefined) return undefined;
    if (!TOKEN.test(key))
      throw new AwakenError("invalid_activation", "the token of a client is empty, or has characters that no header can have");
    return { authorization: `Bearer ${key}` };
  }

  async #requestOf(name: Endpoint, { ids = {}, query, body, headers, signal }: Asked, patient: AbortSignal): Promise<Request> {
    const { method, path } = endpoint(name, ids);
    const url = new URL(path.slice(1), this.#base);
    for (const [key, value] of Object.entries(query ?? {})) if (value !== undefined) url.searchParams.set(key, String(value));
    const { headers: own, credentials } = this.#init;
    const authorization = await this.#authorization();
    signal?.throwIfAborted();
    return new Request(url, {
      method,
      headers: { ...own, ...authorization, ...(body === undefined ? undefined : { "content-type": "application/json" }), ...headers },
      redirect: "manual",
      signal: signal === undefined ? patient : AbortSignal.any([signal, patient]),
      ...(body === undefined ? undefined : { body: JSON.stringify(body) }),
      ...(credentials === undefined ? undefined : { credentials }),
    });
  }

  /** One request, and what is read of its answer when it went well. What does not come in time has not come. */
  async #exchange<T>(name: Endpoint, asked: Asked, read: (response: Response) => T | Promise<T>): Promise<T> {
    const { signal, heldMs = 0 } = asked;
    signal?.throwIfAborted();
    const { fetch = (request) => globalThis.fetch(request), timeoutMs = ANSWER_MS, headers } = this.#init;
    const patient = new AbortController();
    const request = await this.#requestOf(name, asked, patient.signal);
    const ms = Math.min(timeoutMs + heldMs, MAX_TIMER_MS);
    const timer = setTimeout(() => patient.abort(new Error(`no answer within ${ms} ms`)), ms);
    try {
      const response = await fetch(request);
      if (response.ok) return await read(response);
      throw await refusalOf(this.#base, response, (text) => withoutSecrets(text, request, headers));
    } catch (cause) {
      signal?.throwIfAborted();
      if (AwakenError.is(cause)) throw cause;
      throw new AwakenError(UNREACHABLE, `${this.#base.origin} cannot be reached: ${errorMessage(cause)}`, { cause });
    } finally {
      clearTimeout(timer);
    }
  }

  /** One request, and its answer when it went well. */
  send(name: Endpoint, asked: Asked): Promise<Response> {
    return this.#exchange(name, asked, (response) => response);
  }

  /** The server speaks the same table of routes: its answers are taken as they are. */
  ask<Name extends Endpoint>(name: Name, asked: Asked = {}): Promise<Answer<Name>> {
    return this.#exchange(name, asked, (response) =>
      response.json().catch((cause: unknown) => {
        throw new AwakenError(UNREACHABLE, `the answer of ${this.#base.origin} broke off: ${errorMessage(cause)}`, { cause });
      }),
    );
  }

  /** For what is answered with nothing. */
  async tell(name: Endpoint, asked: Asked = {}): Promise<void> {
    await letGo(await this.send(name, asked));
  }

  /** The same, for what may be asked twice: tried again while nobody answers, or is told to come back. */
  insist<Name extends Endpoint>(name: Name, asked: Asked = {}, patience?: Patience): Promise<Answer<Name>> {
    return insist(() => this.ask(name, asked), asked.signal, patience);
  }
}

/** Nobody reads it; that it broke off meanwhile is nobody's concern. */
export const letGo = async ({ body }: Response): Promise<void> => body?.cancel().catch(() => {});
