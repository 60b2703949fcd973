const NEWLINE = 10;
const RETURN = 13;

const tooLong = (maxBytes: number) => new Error(`the server sent a message of more than ${maxBytes} bytes`);

/** Counts the bytes of the message that is being read: an event ends with an empty line, other bodies are one message. */
function limit(isEvents: boolean, maxBytes: number): TransformStream<Uint8Array<ArrayBuffer>, Uint8Array<ArrayBuffer>> {
  let bytes = 0;
  let isLineEmpty = true;
  return new TransformStream({
    transform(chunk, controller) {
      if (!isEvents) bytes += chunk.length;
      else {
        for (const byte of chunk) {
          bytes += 1;
          if (byte === RETURN) continue;
          if (byte === NEWLINE && isLineEmpty) bytes = 0;
          isLineEmpty = byte === NEWLINE;
          if (bytes > maxBytes) break;
        }
      }
      if (bytes > maxBytes) controller.error(tooLong(maxBytes));
      else controller.enqueue(chunk);
    },
  });
}

/** The same response, whose body fails when one message of it gets too long: nobody buffers what never ends. */
export function limitBody(response: Response, maxBytes: number): Response {
  if (response.body === null) return response;
  const isEvents = response.headers.get("content-type")?.startsWith("text/event-stream") ?? false;
  const { status, statusText, headers } = response;
  const limited = new Response(response.body.pipeThrough(limit(isEvents, maxBytes)), { status, statusText, headers });
  // A response that is made by hand has no address, and the client reports redirects by it.
  Object.defineProperty(limited, "url", { value: response.url });
  return limited;
}
