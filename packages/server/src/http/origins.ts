import { AwakenError } from "@awaken/contract";
import type { Route } from "@awaken/contract/http";
import type { MiddlewareHandler } from "hono";
import { bearerOf, type RequestHead } from "./access.ts";

const ANY_PORT = ":*";
const isPort = (text: string): boolean => /^\d+$/.test(text);

function fits(origin: string, allowed: string): boolean {
  if (!allowed.endsWith(ANY_PORT)) return origin === allowed;
  // The usual port is not spelled in an origin.
  const host = allowed.slice(0, -ANY_PORT.length);
  return origin === host || (origin.startsWith(`${host}:`) && isPort(origin.slice(host.length + 1)));
}

const isListed = (origin: string, origins: readonly string[]): boolean => origins.some((allowed) => fits(origin, allowed));

const HINT =
  "pages of this origin may not ask: list it in `origins`, or send a key as `Authorization: Bearer …`. " +
  "Behind a proxy that changes Host, the server's own public address has to be listed as well";

const SAFE: ReadonlySet<string> = new Set(["GET", "HEAD", "OPTIONS"]);

/** The page was loaded from where it asks. Only browsers say so, and no page can make them say it. */
function isOwn(origin: string, { headers, url }: RequestHead): boolean {
  if (headers.get("sec-fetch-site") === "same-origin") return true;
  const host = headers.get("host") ?? new URL(url).host;
  return origin === `http://${host}` || origin === `https://${host}`;
}

/**
 * Pages can make a browser send requests without asking first, with its cookies and to its own machine. One that changes something needs
 * a bearer token in its head, which pages of others do not have, or an origin that is listed. Browsers add other kinds of `Authorization` by
 * themselves, as they do cookies.
 */
export function checkOrigin(head: RequestHead, origins: readonly string[]): void {
  const { method, headers } = head;
  if (SAFE.has(method)) return;
  const origin = headers.get("origin");
  if (origin === null || isOwn(origin, head) || isListed(origin, origins) || bearerOf(headers) !== undefined) return;
  throw new AwakenError("origin_not_allowed", HINT);
}

const SPELLED = /^[a-z][a-z\d+.-]*:\/\/[^\s/?#@*,A-Z]+$/;

/** As browsers spell it: no path, no upper case, no port that goes without saying. */
function isSpelled(origin: string): boolean {
  const given = origin.endsWith(ANY_PORT) ? origin.slice(0, -ANY_PORT.length) : origin;
  if (!SPELLED.test(given) || !URL.canParse(given)) return false;
  const { origin: own } = new URL(given);
  return own === "null" || own === given;
}

/** What is wrong with a list of origins: one that no browser would say lets in nobody. */
export function originProblem(origins: readonly string[]): string | undefined {
  if (origins.includes("*")) return "origins cannot be '*': pages of anybody would ask with the cookies of your users; list yours";
  const wrong = origins.find((origin) => !isSpelled(origin));
  if (wrong === undefined) return undefined;
  return `origins are like https://app.example.com or http://localhost:*, in lower case and without a path, got '${wrong}'`;
}

const HEADER_NAME = /^[\w!#$%&'+.^`|~-]+$/;

/** What is wrong with headers that pages may send. */
export function originHeaderProblem(names: readonly string[]): string | undefined {
  const wrong = names.find((name) => !HEADER_NAME.test(name));
  return wrong === undefined ? undefined : `originHeaders are names of headers, each spelled out, got '${wrong}'`;
}

export interface OriginRules {
  /** Whose pages may ask. */
  readonly origins: readonly string[];
  /** What they may send beside what the routes read. */
  readonly headers: readonly string[];
  readonly routes: readonly Route[];
}

type Told = Readonly<Record<string, string>>;

/** Every route reads these. */
const READ = ["authorization", "content-type", "x-request-id"];
/** Every answer may have these. */
const SAID = ["x-run-id", "x-thread-id", "x-request-id", "retry-after"];

const listOf = (...names: readonly (readonly string[])[]): string => [...new Set(names.flat().map((name) => name.toLowerCase()))].join(",");
const wordsOf = ({ answer }: Route): readonly string[] => (answer.type === "frames" ? Object.keys(answer.headers ?? {}) : []);

/** Pages of listed origins may ask and read, with the cookies of whoever looks at them: each is named, so that no other one may. */
export class Origins {
  readonly list: readonly string[];
  readonly #preflight: Told;
  readonly #exposed: string;

  constructor({ origins, headers, routes }: OriginRules) {
    this.list = origins;
    this.#preflight = {
      "access-control-allow-methods": listOf(
        ["OPTIONS", "HEAD"],
        routes.map(({ method }) => method),
      ).toUpperCase(),
      "access-control-allow-headers": listOf(
        READ,
        routes.flatMap((route) => route.headers ?? []),
        headers,
      ),
      "access-control-max-age": "600",
    };
    this.#exposed = listOf(SAID, routes.flatMap(wordsOf));
  }

  /** Nobody is listed: no answer is for pages of others. */
  get isEmpty(): boolean {
    return this.list.length === 0;
  }

  /** What every answer to a page of this origin has beside its own. */
  toldTo(origin: string | null): Told {
    if (this.isEmpty) return {};
    if (origin === null || !isListed(origin, this.list)) return { vary: "origin" };
    return {
      vary: "origin",
      "access-control-allow-origin": origin,
      "access-control-allow-credentials": "true",
      "access-control-expose-headers": this.#exposed,
    };
  }

  /** Browsers ask before they send what a page could not send by itself. */
  preflight(origin: string | null): Response {
    return new Response(null, { status: 204, headers: { ...this.toldTo(origin), ...this.#preflight } });
  }
}

export const allowing =
  (origins: Origins): MiddlewareHandler =>
  async ({ req, res: { headers } }, next) => {
    const origin = req.header("origin") ?? null;
    if (req.method === "OPTIONS") return origins.preflight(origin);
    for (const [name, value] of Object.entries(origins.toldTo(origin))) headers.set(name, value);
    return next();
  };
