import { clean, cutAt } from "./sanitize.ts";

const AFTER_ASCII = /[\u007f-\u009f]/g;

/** Text of models and tools in one line of at most so many characters, without anything that a terminal would obey. */
export function brief(text: string, limit: number): string {
  const line = clean(text).replace(/\s+/g, " ").trim();
  return line.length > limit ? `${cutAt(line, limit - 1)}…` : line;
}

const escaped = (character: string): string => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;

/** One line of JSON. Control characters that JSON lets through are written as escapes. */
export const jsonLine = (value: unknown): string => JSON.stringify(value).replace(AFTER_ASCII, escaped);
