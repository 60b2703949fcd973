import { ERROR_TABLE, type ErrorCode } from "@awaken/contract";
import type { Origins } from "./origins.ts";

/** More of them are refused: what a host leaves out without a word may be the key. */
const MAX_HEADERS = 100;
const MAX_HEAD_BYTES = 16 * 1024;

/**
 * What Node reads of a head before it says no itself. It does not say to whom: where pages of other origins may ask, it reads somewhat more than is
 * taken, so that a page whose cookies have grown too large can be told so.
 */
export const readableHead = (origins: Origins): number => (origins.isEmpty ? MAX_HEAD_BYTES : 4 * MAX_HEAD_BYTES);

/** A head that Node has read and that is too large. */
export function isTooLarge({ rawHeaders, url = "" }: ReadHead, origins: Origins): boolean {
  if (rawHeaders.length > 2 * MAX_HEADERS) return true;
  if (origins.isEmpty) return false;
  let size = url.length;
  for (const text of rawHeaders) size += text.length + 2;
  return size > MAX_HEAD_BYTES;
}

interface ReadHead {
  readonly rawHeaders: readonly string[];
  readonly url?: string | undefined;
}

export const TOO_MANY_HEADERS = `a request may have ${MAX_HEADERS} headers, of 16 KiB together`;

/** What of a socket is needed to say why nothing was read of it. */
export interface HeadSocket {
  readonly writable: boolean;
  end(text: string): unknown;
  destroy(): unknown;
}

/** What of Node's `ServerResponse` says whose answer it is. */
interface Answering {
  readonly headersSent: boolean;
  readonly req: { readonly complete: boolean; readonly headers: { readonly origin?: string | undefined } };
  once(event: "close", listener: () => void): unknown;
}

const isAnswering = (value: unknown): value is Answering =>
  typeof value === "object" && value !== null && "headersSent" in value && "once" in value && "req" in value;

/** Node's own place for the answer that is under way. */
const answerOn = (socket: object): Answering | undefined =>
  "_httpMessage" in socket && isAnswering(socket._httpMessage) ? socket._httpMessage : undefined;

const NO_REQUEST = ["invalid_request", "this is no request of HTTP/1.1"] as const;
const WHY: Readonly<Record<string, readonly [ErrorCode, string]>> = {
  HPE_HEADER_OVERFLOW: ["headers_too_large", TOO_MANY_HEADERS],
  ERR_HTTP_REQUEST_TIMEOUT: ["request_timeout", "the request did not come in time"],
};

const HEADERS = { "content-type": "application/json; charset=utf-8", "x-content-type-options": "nosniff" };

/** A request whose head Node can read and that no URL can be made of. */
export function unreadable(): Response {
  const [code, error] = NO_REQUEST;
  return Response.json({ error, code }, { status: ERROR_TABLE[code].status, headers: HEADERS });
}

/** Those that are refused: what still comes of them is let go, since a connection that is broken off takes the answer with it. */
const refused = new WeakSet<HeadSocket>();
const LINGER_MS = 1_000;

/** Who asks, as far as it was read: a page that is told nothing of this would take it for a server that is not there. */
function originOf(error: object, answer: Answering | undefined): string | null {
  if (answer !== undefined) return answer.req.headers.origin ?? null;
  if (!("rawPacket" in error && error.rawPacket instanceof Uint8Array)) return null;
  const [head = ""] = new TextDecoder("latin1").decode(error.rawPacket).split("\r\n\r\n", 1);
  return /\norigin:[ \t]*([^\s]+)/i.exec(head)?.[1] ?? null;
}

interface Refusing {
  readonly why: readonly [ErrorCode, string];
  /** What Node says of it, with the piece of the request that was too much. */
  readonly error: object;
  readonly origins: Origins;
}

/** A request that Node could not read: it is told in the words of the server, behind the answers to those before it, and its connection ends. */
export function refuseHead(error: object, socket: HeadSocket, origins: Origins): void {
  if (refused.has(socket)) return;
  refused.add(socket);
  tell(socket, { why: ("code" in error ? WHY[String(error.code)] : undefined) ?? NO_REQUEST, error, origins });
}

function tell(socket: HeadSocket, refusing: Refusing): void {
  const answer = answerOn(socket);
  if (!socket.writable || (answer?.headersSent && !answer.req.complete)) socket.destroy();
  else if (answer?.req.complete) answer.once("close", () => tell(socket, refusing));
  else sayLast(socket, refusing.why, refusing.origins.toldTo(originOf(refusing.error, answer)));
}

function sayLast(socket: HeadSocket, [code, error]: readonly [ErrorCode, string], told: Readonly<Record<string, string>>): void {
  setTimeout(() => socket.destroy(), LINGER_MS);
  const body = JSON.stringify({ error, code });
  const head = Object.entries({ ...HEADERS, ...told }).map(([name, value]) => `\r\n${name}: ${value}`);
  socket.end(
    `HTTP/1.1 ${ERROR_TABLE[code].status} Refused${head.join("")}\r\ncontent-length: ${body.length}\r\nconnection: close\r\n\r\n${body}`,
  );
}
