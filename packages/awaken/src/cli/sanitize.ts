type State = "text" | "escape" | "intermediate" | "control" | "string" | "string-escape";

const ESCAPE = 0x1b;
const BELL = 0x07;
const STRING_END = 0x9c;
/** Control characters of both sets, and those that turn the direction of what stands around them. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is taken out
const UNCLEAN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/;

const isBetween = (code: number, low: number, high: number): boolean => code >= low && code <= high;
const isIntermediate = (code: number): boolean => isBetween(code, 0x20, 0x2f);

/** What follows an escape character. */
function afterEscape(code: number): State {
  if (code === 0x5b) return "control";
  // ], P, X, ^ and _ begin strings that the terminal keeps for itself.
  if ([0x5d, 0x50, 0x58, 0x5e, 0x5f].includes(code)) return "string";
  return isIntermediate(code) ? "intermediate" : "text";
}

/** The 8-bit forms of the same; other control characters begin nothing. */
function afterControl(code: number): State {
  if (code === ESCAPE) return "escape";
  if (code === 0x9b) return "control";
  return [0x9d, 0x90, 0x98, 0x9e, 0x9f].includes(code) ? "string" : "text";
}

const HALF = /[\ud800-\udbff]$/;

/** The beginning of a text, not through the middle of a character that takes two places. */
export const cutAt = (text: string, chars: number): string => text.slice(0, chars).replace(HALF, "");

/**
 * Takes control characters and terminal sequences out of text that comes in pieces; newlines and tabs stay. A sequence may be split
 * over pieces, and so may a character: its first half waits for the second. A newline ends a sequence that never ends by itself, so that one cannot swallow the rest of the text.
 */
export class TextCleaner {
  #state: State = "text";
  #half = "";

  push(piece: string): string {
    const joined = this.#half + piece;
    this.#half = HALF.exec(joined)?.[0] ?? "";
    const text = this.#half === "" ? joined : joined.slice(0, -1);
    if (this.#state === "text" && !UNCLEAN.test(text)) return text;
    let kept = "";
    for (const char of text) if (this.#isKept(char, char.codePointAt(0) ?? 0)) kept += char === "\u2028" || char === "\u2029" ? "\n" : char;
    return kept;
  }

  #isKept(char: string, code: number): boolean {
    if (char === "\n") {
      this.#state = "text";
      return true;
    }
    if (this.#state !== "text") {
      if (this.#skips(code)) return false;
      this.#state = "text";
    }
    if (char === "\u2028" || char === "\u2029" || !UNCLEAN.test(char)) return true;
    this.#state = afterControl(code);
    return false;
  }

  /** Whether the character belongs to the sequence that is open. */
  #skips(code: number): boolean {
    switch (this.#state) {
      case "escape":
        this.#state = afterEscape(code);
        return this.#state !== "text" || isBetween(code, 0x30, 0x7e);
      case "intermediate":
        if (isIntermediate(code)) return true;
        this.#state = "text";
        return isBetween(code, 0x30, 0x7e);
      case "control":
        if (isBetween(code, 0x20, 0x3f)) return true;
        this.#state = "text";
        return isBetween(code, 0x40, 0x7e);
      case "string":
        if (code === ESCAPE) this.#state = "string-escape";
        else if (code === BELL || code === STRING_END) this.#state = "text";
        return true;
      case "string-escape":
        this.#state = code === 0x5c ? "text" : afterEscape(code);
        return true;
      case "text":
        return false;
    }
  }
}

/** A whole text, fit for a terminal. */
export const clean = (text: string): string => new TextCleaner().push(text);
