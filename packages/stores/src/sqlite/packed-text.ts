import { PHRASES } from "./phrases.ts";

// JSON escapes control characters, so in the text of a row each of them is free to stand for something longer. A text without any is
// plain JSON: rows of older versions are, and so are those that somebody has written by hand.

/** Stand for a phrase on their own, for one of the phrases after them with the character behind, and for an own value of the row. */
const FIRST = 0x01;
const FAR = "\u001e";
const OWN = "\u001f";
const NEAR_COUNT = 0x1e - FIRST;
/** Printable, so that the second character of a pair is never taken for a mark. */
const FIRST_FAR = 0x20;

/** Shorter ones are not worth their place. */
const MIN_OWN = 6;
/** They are named by one digit. */
const MAX_OWN = 10;

const codeOf = (index: number): string =>
  index < NEAR_COUNT ? String.fromCharCode(FIRST + index) : FAR + String.fromCharCode(FIRST_FAR + index - NEAR_COUNT);

const CODES = new Map(PHRASES.map((phrase, index) => [phrase, codeOf(index)]));
const BY_CODE = new Map(PHRASES.map((phrase, index) => [codeOf(index), phrase]));

const escaped = (phrase: string): string => phrase.replaceAll(/[\\^$.*+?()[\]{}|]/g, "\\$&");
const ANY_PHRASE = new RegExp(
  PHRASES.toSorted((a, b) => b.length - a.length)
    .map(escaped)
    .join("|"),
  "g",
);
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const ANY_CODE = /[\u0001-\u001d]|[\u001e\u001f][ -~]/g;

/** `own` are values that the row has in other columns; whoever unpacks gives the same, in the same order. */
export function pack(json: string, own: readonly string[]): string {
  let text = json;
  for (const [index, value] of own.slice(0, MAX_OWN).entries()) {
    if (value.length >= MIN_OWN) text = text.replaceAll(value, `${OWN}${index}`);
  }
  return text.replaceAll(ANY_PHRASE, (phrase) => CODES.get(phrase) ?? phrase);
}

export function unpack(text: string, own: readonly string[]): string {
  return text.replaceAll(ANY_CODE, (code) => (code[0] === OWN ? own[Number(code[1])] : BY_CODE.get(code)) ?? code);
}
