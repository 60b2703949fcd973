import { afterThisTick } from "./event-writer.ts";
import { BUFFER_BYTES, type Sink } from "./outflow.ts";
import type { Delivery, EventStreams, Streaming } from "./streams.ts";

/** An answer, before the host has it. */
export interface Reply {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | undefined | Streaming;
}

/** What of Node's `ServerResponse` answers are written to. */
export interface NodeOutgoing {
  writeHead(status: number, headers: Readonly<Record<string, string>>): unknown;
  flushHeaders(): void;
  write(chunk: string | Uint8Array): boolean;
  end(chunk?: string): unknown;
  destroy(error?: Error): unknown;
  /** Whether the connection is gone. */
  readonly destroyed: boolean;
  /** What the system has not taken yet, in bytes. */
  readonly writableLength: number;
  /** Null while other answers go first. */
  readonly socket: object | null;
  on(event: "drain" | "close", listener: () => void): unknown;
}

/** HTTP/1.1; the other one is left to the adapter. */
export const isOutgoing = (outgoing: object): outgoing is NodeOutgoing => "flushHeaders" in outgoing && !("createPushResponse" in outgoing);

/** Where a request came in, when that is Node: writing there needs no streams and headers of the web. */
export interface NodeHost {
  readonly outgoing: NodeOutgoing;
  /** What tells the adapter that the answer is on its way. */
  readonly sent: Response;
}

const isStreaming = (body: Reply["body"]): body is Streaming => typeof body === "object";

export function toResponse(streams: EventStreams, { status, headers, body }: Reply, request: Request): Response {
  return new Response(isStreaming(body) ? streams.open(body, request.signal) : (body ?? null), { status, headers });
}

export function writeReply(streams: EventStreams, { outgoing, sent }: NodeHost, reply: Reply): Response {
  const { status, headers, body } = reply;
  if (!isStreaming(body)) writeBody(streams, outgoing, { status, headers, body });
  else {
    outgoing.writeHead(status, headers);
    writeStream(streams, outgoing, body);
  }
  return sent;
}

interface WholeReply extends Reply {
  readonly body: string | undefined;
}

const sinkOf = (outgoing: NodeOutgoing): Sink => ({
  write: (piece) => outgoing.write(piece),
  end: () => outgoing.end(),
  cut: (why) => outgoing.destroy(why),
  isQueued: () => outgoing.socket === null,
});

const ENCODER = new TextEncoder();

function writeBody(streams: EventStreams, outgoing: NodeOutgoing, { status, headers, body }: WholeReply): void {
  if (outgoing.destroyed) return;
  if (body !== undefined && body.length > BUFFER_BYTES) {
    const bytes = ENCODER.encode(body);
    outgoing.writeHead(status, { ...headers, "content-length": String(bytes.byteLength) });
    lookAfter(outgoing, streams.deliver(sinkOf(outgoing), bytes));
    return;
  }
  // Without its length Node would send it in chunks. What has no body by its status has no length either.
  outgoing.writeHead(status, status === 204 ? headers : { ...headers, "content-length": String(Buffer.byteLength(body ?? "")) });
  outgoing.end(body);
  // Mostly the system has taken all of it, and nobody has to be looked after.
  if (outgoing.writableLength > 0) lookAfter(outgoing, streams.deliver({ ...sinkOf(outgoing), end: () => {} }));
}

function lookAfter(outgoing: NodeOutgoing, reader: Delivery): void {
  outgoing.on("drain", () => reader.drained());
  outgoing.on("close", () => reader.left());
}

function writeStream(streams: EventStreams, outgoing: NodeOutgoing, body: Streaming): void {
  let hasWritten = false;
  const sink = sinkOf(outgoing);
  const writer = streams.write(body, {
    ...sink,
    write: (piece) => {
      hasWritten = true;
      return sink.write(piece);
    },
  });
  lookAfter(outgoing, writer);
  // Whoever left before his answer began is told of by nobody any more.
  if (outgoing.destroyed) writer.left();
  // Whoever follows what is silent has to know that he does. What comes at once goes with the head, in one write.
  afterThisTick(() => {
    if (!hasWritten) outgoing.flushHeaders();
  });
}
