import type { Clock } from "@awaken/runtime";

/** How long a reader may take nothing of what is there for him. */
const STALL_MS = 30_000;
/** What is given to the host at once, and what is kept for a reader that is behind, in bytes. The log has the rest. */
export const BUFFER_BYTES = 64 * 1024;

const ENCODER = new TextEncoder();

/** Where text goes. It tells the flow when it has room again, and whoever made the flow when its reader is gone. */
export interface Sink {
  /** False when it holds as much as it may. */
  write(piece: string | Uint8Array): boolean;
  end(): void;
  /** The connection is broken off. */
  cut(why: Error): void;
  /** Other answers go first on this connection. */
  isQueued?(): boolean;
}

/**
 * Text on its way to one reader. The sink has it in pieces, each when the one before is taken: whoever reads a large answer slowly can be told
 * from one who does not read, and what is not taken is not in buffers.
 */
export class Outflow {
  readonly #sink: Sink;
  readonly #clock: Clock;
  readonly #texts: (string | Uint8Array)[] = [];
  #bytes: Uint8Array | undefined;
  #hasRoom = true;
  #isLast = false;
  #isEnded = false;
  #waitsSince: number | undefined;

  constructor(sink: Sink, clock: Clock) {
    this.#sink = sink;
    this.#clock = clock;
  }

  /** All is with the sink, and it can take more. */
  get isFree(): boolean {
    return this.#hasRoom && !this.#isBehind;
  }

  get #isBehind(): boolean {
    return this.#bytes !== undefined || this.#texts.length > 0;
  }

  write(text: string | Uint8Array): void {
    this.#texts.push(text);
    this.#pump();
  }

  /** Nothing comes behind what was written. */
  end(): void {
    this.#isLast = true;
    this.#pump();
  }

  cut(why: Error): void {
    this.#isEnded = true;
    this.#texts.length = 0;
    this.#bytes = undefined;
    this.#sink.cut(why);
  }

  /** The sink has given on what it had. */
  drained(): void {
    this.#hasRoom = true;
    this.#waitsSince = undefined;
    this.#pump();
  }

  /** The reader has taken nothing for too long. */
  isStuck(now: number): boolean {
    if (this.#waitsSince === undefined) return false;
    if (this.#sink.isQueued?.()) this.#waitsSince = now;
    return now - this.#waitsSince >= STALL_MS;
  }

  #pump(): void {
    if (this.#isEnded) return;
    while (this.#hasRoom && this.#isBehind) this.#hasRoom = this.#sink.write(this.#next());
    // Whoever reads while he is written to has brought it to its end within.
    if (this.#isLast && !this.#isBehind && !this.#isEnded) {
      this.#isEnded = true;
      this.#sink.end();
    }
    if (!this.#hasRoom || this.#isEnded) this.#waitsSince ??= this.#clock.now();
  }

  #next(): string | Uint8Array {
    if (this.#bytes === undefined) {
      const text = this.#texts.shift() ?? "";
      if (text.length <= BUFFER_BYTES) return text;
      this.#bytes = typeof text === "string" ? ENCODER.encode(text) : text;
    }
    const piece = this.#bytes.subarray(0, BUFFER_BYTES);
    const rest = this.#bytes.subarray(BUFFER_BYTES);
    this.#bytes = rest.byteLength === 0 ? undefined : rest;
    return piece;
  }
}
