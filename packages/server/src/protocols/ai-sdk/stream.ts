import type { Ticket } from "@awaken/contract";
import type { AttachedEvent } from "@awaken/runtime";
import type { FrameEncoder } from "../../routes/served.ts";
import type { Chunk } from "./chunk.ts";
import type { AiSdkEncoder } from "./encoder.ts";
import { DONE, frameOf } from "./frames.ts";

const framesOf = (chunks: readonly Chunk[], cursor?: string): string =>
  chunks.map((chunk, index) => frameOf(chunk, index === chunks.length - 1 ? cursor : undefined)).join("");

export interface ChatStreamInit {
  /** Said before everything else. */
  readonly head?: readonly Chunk[];
  /** Nothing is written before this is true of an event: what was told before, the reader has, or does not want. */
  readonly isFirst?: (event: AttachedEvent) => boolean;
  /** What is waited for below the run, when no event of the run itself says so. */
  readonly waiting?: () => readonly Ticket[] | undefined;
  /** What is on record and no more: it may end in the middle of an answer. */
  readonly isRecord?: boolean;
}

/** The frames of one reader. */
export class ChatStream implements FrameEncoder {
  readonly #encoder: AiSdkEncoder;
  readonly #init: ChatStreamInit;
  #isOpen: boolean;
  #head: string;

  constructor(encoder: AiSdkEncoder, init: ChatStreamInit = {}) {
    this.#encoder = encoder;
    this.#init = init;
    this.#isOpen = init.isFirst === undefined;
    this.#head = framesOf(init.head ?? []);
  }

  encode(event: AttachedEvent): string {
    const chunks = this.#encoder.encode(event);
    const isOpen = this.#isOpen || this.#init.isFirst?.(event) === true;
    this.#isOpen = isOpen;
    return isOpen ? this.#begin() + framesOf(chunks, event.cursor) : "";
  }

  end(): string | undefined {
    const tickets = this.#init.waiting?.();
    if (tickets === undefined && !this.#encoder.isOver && this.#init.isRecord !== true) return undefined;
    return this.#begin() + (tickets === undefined ? "" : framesOf(this.#encoder.wait(tickets))) + DONE;
  }

  fail({ error }: { readonly error: string }): string {
    return this.#begin() + framesOf(this.#encoder.fail(error)) + DONE;
  }

  #begin(): string {
    const head = this.#head;
    this.#head = "";
    return head;
  }
}

/** A stream that is there already. */
export const saidStream = (chunks: readonly Chunk[]): FrameEncoder => ({
  encode: () => "",
  end: () => framesOf(chunks) + DONE,
  fail: () => DONE,
});
