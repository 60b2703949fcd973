const MASK = "***";
const PREVIEW_EDGE = 4;
const PREVIEW_MIN = 12;
const MARKER = Symbol.for("awaken.secret");

/**
 * A value that must not show up by accident: strings and inspectors see `***`. `reveal` is the one way to read it in code;
 * JSON is the stored form and holds the plain text, so a record with a secret is never sent or logged as JSON.
 */
export class Secret {
  static readonly MASK = MASK;
  readonly #value: string;

  constructor(value: string) {
    this.#value = value;
  }

  /** True for secrets, also when two copies of this package are installed. */
  static is(value: unknown): value is Secret {
    return typeof value === "object" && value !== null && MARKER in value;
  }

  get [MARKER](): true {
    return true;
  }

  reveal(): string {
    return this.#value;
  }

  /** Enough to recognise a key by: its first and last four characters, or only the mask when it is short. */
  preview(): string {
    const characters = [...this.#value];
    if (characters.length < PREVIEW_MIN) return MASK;
    return characters.slice(0, PREVIEW_EDGE).join("") + MASK + characters.slice(-PREVIEW_EDGE).join("");
  }

  toString(): string {
    return MASK;
  }

  toJSON(): string {
    return this.#value;
  }

  [Symbol.for("nodejs.util.inspect.custom")](): string {
    return MASK;
  }
}
