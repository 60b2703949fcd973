import type { LanguageModelV4StreamPart } from "@ai-sdk/provider";
import type { StreamPart } from "@awaken/contract";
import { Translation } from "../answer/from-parts.ts";
import type { Call } from "./call.ts";

const OVER = { done: true, value: undefined } as const;
/** How long a finished answer may hold its connection. A body that is read to its end leaves the connection reusable. */
const DRAIN_MS = 1000;

export interface OpenParts<Part> {
  readonly stream: ReadableStream<Part>;
  /** Puts a part of the model's specification version into the words of the newest. */
  readonly convert: (part: Part) => LanguageModelV4StreamPart;
  /** What we have to say before the model does. */
  readonly first: readonly StreamPart[];
}

/** The parts of one open stream. Leaving it early, at any point, releases the connection. */
export class PartStream<Part> implements AsyncIterableIterator<StreamPart> {
  readonly #reader: ReadableStreamDefaultReader<Part>;
  readonly #convert: (part: Part) => LanguageModelV4StreamPart;
  readonly #translation = new Translation();
  readonly #call: Call;
  #queue: StreamPart[];
  #position = 0;
  #isOver = false;

  constructor({ stream, convert, first }: OpenParts<Part>, call: Call) {
    this.#reader = stream.getReader();
    this.#convert = convert;
    this.#call = call;
    this.#queue = [...first];
    call.signal.addEventListener("abort", () => this.#reader.cancel().catch(() => undefined), { once: true });
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  async next(): Promise<IteratorResult<StreamPart, undefined>> {
    for (;;) {
      const part = this.#queue[this.#position++];
      if (part !== undefined) return { done: false, value: part };
      if (this.#isOver) return OVER;
      this.#queue = [];
      this.#position = 0;
      const { failure, isEnded } = this.#translation;
      if (failure !== undefined) throw this.#fail(failure.reason);
      if (isEnded) this.#close();
      else await this.#fill();
    }
  }

  async return(): Promise<IteratorResult<StreamPart, undefined>> {
    this.#queue = [];
    this.#close();
    return OVER;
  }

  async #fill(): Promise<void> {
    const { isFinished } = this.#translation;
    try {
      const read = await this.#call.wait(this.#reader.read(), isFinished ? DRAIN_MS : undefined);
      if (read.done) this.#translation.end(this.#queue);
      else this.#translation.push(this.#convert(read.value), this.#queue);
    } catch (thrown) {
      if (this.#isOver) return;
      if (!isFinished) throw this.#fail(thrown);
      this.#translation.end(this.#queue);
    }
  }

  #fail(thrown: unknown): Error {
    const error = this.#call.explain(thrown);
    this.#close();
    return error;
  }

  #close(): void {
    this.#isOver = true;
    this.#call.end();
  }
}
