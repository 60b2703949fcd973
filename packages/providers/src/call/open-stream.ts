import type { LanguageModelV4StreamPart } from "@ai-sdk/provider";
import type { StreamPart } from "@awaken/contract";
import type { Call } from "./call.ts";
import { PartStream } from "./part-stream.ts";

export interface Opening<Part> {
  readonly opening: PromiseLike<{ readonly stream: ReadableStream<Part> }>;
  readonly convert: (part: Part) => LanguageModelV4StreamPart;
  /** What the request asked for and did not get. */
  readonly warnings: readonly string[];
}

function discard(opening: Opening<unknown>["opening"]): void {
  opening.then(
    ({ stream }) => stream.cancel().catch(() => undefined),
    () => undefined,
  );
}

/** Opens a stream under the call's limits. One that opens after the call was given up is closed again. */
export async function openStream<Part>(call: Call, open: () => Opening<Part>): Promise<AsyncIterable<StreamPart>> {
  call.signal.throwIfAborted();
  const { opening, convert, warnings } = open();
  try {
    const { stream } = await call.wait(opening);
    const first = warnings.map((message) => ({ type: "warning", message }) as const);
    return new PartStream({ stream, convert, first }, call);
  } catch (thrown) {
    discard(opening);
    throw thrown;
  }
}
