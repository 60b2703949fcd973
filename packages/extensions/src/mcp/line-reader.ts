const NEWLINE = 10;

/** Cuts a stream of bytes into lines. Each byte is looked at once, and a line that gets too long throws. */
export class LineReader {
  readonly #maxBytes: number;
  #chunks: Buffer[] = [];
  #bytes = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** The lines that end in this chunk. */
  *read(chunk: Buffer): Iterable<string> {
    let from = 0;
    for (let end = chunk.indexOf(NEWLINE); end >= 0; end = chunk.indexOf(NEWLINE, from)) {
      this.#keep(chunk.subarray(from, end));
      const line = Buffer.concat(this.#chunks).toString("utf8");
      this.clear();
      from = end + 1;
      yield line;
    }
    this.#keep(chunk.subarray(from));
  }

  #keep(part: Buffer): void {
    if (part.length === 0) return;
    this.#bytes += part.length;
    if (this.#bytes > this.#maxBytes) throw new Error(`more than ${this.#maxBytes} bytes in one line`);
    this.#chunks.push(part);
  }

  clear(): void {
    this.#chunks = [];
    this.#bytes = 0;
  }
}
