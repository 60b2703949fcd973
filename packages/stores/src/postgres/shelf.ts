/** What an entry costs beside what it holds. */
const ENTRY_BYTES = 512;

interface Held<T> {
  readonly value: T;
  readonly bytes: number;
}

/** Values by id, those that were used last, within a number of bytes. */
export class Shelf<T> {
  readonly #maxBytes: number;
  /** The one that was used last stands last. */
  readonly #entries = new Map<string, Held<T>>();
  #bytes = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** About as many as are held. */
  get bytes(): number {
    return this.#bytes;
  }

  find(id: string): T | undefined {
    const entry = this.#entries.get(id);
    if (entry === undefined) return undefined;
    this.#entries.delete(id);
    this.#entries.set(id, entry);
    return entry.value;
  }

  /** One that is larger than all of the shelf is not held. */
  put(id: string, value: T, bytes: number): void {
    this.drop(id);
    const entry = { value, bytes: ENTRY_BYTES + id.length + bytes };
    if (entry.bytes > this.#maxBytes) return;
    this.#entries.set(id, entry);
    this.#bytes += entry.bytes;
    for (const oldest of this.#entries.keys()) {
      if (this.#bytes <= this.#maxBytes) return;
      this.drop(oldest);
    }
  }

  drop(id: string): void {
    const entry = this.#entries.get(id);
    if (entry === undefined) return;
    this.#entries.delete(id);
    this.#bytes -= entry.bytes;
  }
}

/** About the bytes that a JSON value takes. */
export function bytesOf(value: unknown): number {
  if (typeof value === "string") return 16 + value.length;
  if (typeof value !== "object" || value === null) return 0;
  let bytes = 24;
  for (const item of Object.values(value)) bytes += 8 + bytesOf(item);
  return bytes;
}
