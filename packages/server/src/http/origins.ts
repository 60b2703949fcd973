import { AwakenError } from "@awaken/contract";
import { bearerOf, type RequestHead } from "./access.ts";

const ANY_PORT = ":*";
const isPort = (text: string): boolean => /^\d+$/.test(text);

function fits(origin: string, allowed: string): boolean {
  if (!allowed.endsWith(ANY_PORT)) return origin === allowed;
  // The usual port is not spelled in an origin.
  const host = allowed.slice(0, -ANY_PORT.length);
  return origin === host || (origin.startsWith(`${host}:`) && isPort(origin.slice(host.length + 1)));
}

export const isListed = (origin: string, origins: readonly string[]): boolean => origins.some((allowed) => fits(origin, allowed));

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
