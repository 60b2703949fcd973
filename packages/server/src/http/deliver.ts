import { afterThisTick, type EventWriter } from "./event-writer.ts";
import type { EventStreams, Streaming } from "./streams.ts";

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
  write(chunk: string): boolean;
  end(chunk?: string): unknown;
  destroy(error?: Error): unknown;
  /** Whether the connection is gone. */
  readonly destroyed: boolean;
  on(event: "drain" | "close", listener: () => void): unknown;
}

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

export function writeReply(streams: EventStreams, { outgoing, sent }: NodeHost, { status, headers, body }: Reply): Response {
  outgoing.writeHead(status, headers);
  if (isStreaming(body)) writeStream(streams, outgoing, body);
  else outgoing.end(body);
  return sent;
}

function writeStream(streams: EventStreams, outgoing: NodeOutgoing, body: Streaming): void {
  let hasWritten = false;
  const writer: EventWriter = streams.write(body, {
    write: (frames) => {
      hasWritten = true;
      return outgoing.write(frames);
    },
    end: () => outgoing.end(),
    cut: (why) => outgoing.destroy(why),
  });
  outgoing.on("drain", () => writer.drained());
  outgoing.on("close", () => writer.left());
  // Whoever left before his answer began is told of by nobody any more.
  if (outgoing.destroyed) writer.left();
  // Whoever follows what is silent has to know that he does. What comes at once goes with the head, in one write.
  afterThisTick(() => {
    if (!hasWritten) outgoing.flushHeaders();
  });
}
