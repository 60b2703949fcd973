import { ERROR_TABLE, type ErrorCode } from "@awaken/contract";

/** More of them are refused: what a host leaves out without a word may be the key. */
export const MAX_HEADERS = 100;

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
  readonly req: { readonly complete: boolean };
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

/** A request that Node could not read: it is told in the words of the server, behind the answers to those before it, and its connection ends. */
export function refuseHead({ code = "" }: { readonly code?: string }, socket: HeadSocket): void {
  if (refused.has(socket)) return;
  refused.add(socket);
  tell(socket, WHY[code] ?? NO_REQUEST);
}

function tell(socket: HeadSocket, why: readonly [ErrorCode, string]): void {
  const answer = answerOn(socket);
  if (!socket.writable || (answer?.headersSent && !answer.req.complete)) socket.destroy();
  else if (answer?.req.complete) answer.once("close", () => tell(socket, why));
  else sayLast(socket, why);
}

function sayLast(socket: HeadSocket, [code, error]: readonly [ErrorCode, string]): void {
  setTimeout(() => socket.destroy(), LINGER_MS);
  const body = JSON.stringify({ error, code });
  const head = Object.entries(HEADERS).map(([name, value]) => `\r\n${name}: ${value}`);
  socket.end(
    `HTTP/1.1 ${ERROR_TABLE[code].status} Refused${head.join("")}\r\ncontent-length: ${body.length}\r\nconnection: close\r\n\r\n${body}`,
  );
}
