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

/** Node's own place for the answer that is under way. */
const isAnswering = (socket: object): boolean =>
  "_httpMessage" in socket && typeof socket._httpMessage === "object" && socket._httpMessage !== null;

const WHY: Readonly<Record<string, readonly [ErrorCode, string]>> = {
  HPE_HEADER_OVERFLOW: ["headers_too_large", TOO_MANY_HEADERS],
  ERR_HTTP_REQUEST_TIMEOUT: ["request_timeout", "the request did not come in time"],
};

/** Those that were told: what still comes of them is let go, since a connection that is broken off takes the answer with it. */
const told = new WeakSet<HeadSocket>();
const LINGER_MS = 1_000;

/** A request of which Node could not read so much as the head: it is told in the words of the server, and its connection ends. */
export function refuseHead({ code = "" }: { readonly code?: string }, socket: HeadSocket): void {
  if (told.has(socket)) return;
  if (!socket.writable || isAnswering(socket)) {
    socket.destroy();
    return;
  }
  told.add(socket);
  setTimeout(() => socket.destroy(), LINGER_MS);
  const [why, error] = WHY[code] ?? ["invalid_request", "this is no request of HTTP/1.1"];
  const body = JSON.stringify({ error, code: why });
  const head = `HTTP/1.1 ${ERROR_TABLE[why].status} Refused\r\ncontent-type: application/json; charset=utf-8\r\nx-content-type-options: nosniff`;
  socket.end(`${head}\r\ncontent-length: ${body.length}\r\nconnection: close\r\n\r\n${body}`);
}
