import type { JsonValue } from "@awaken/contract";
import { clean, cutAt } from "../sanitize.ts";

export interface TextLimit {
  readonly chars: number;
  readonly lines: number;
}

/** What a tool gave. The model reads all of it; people read its beginning. */
export const RESULT_LIMIT: TextLimit = { chars: 1_500, lines: 20 };
/** An answer is read whole, unless it is no answer any more. */
export const ANSWER_LIMIT: TextLimit = { chars: 100_000, lines: 5_000 };
/** What people decide about is never cut short without need. */
export const TICKET_LIMIT: TextLimit = { chars: 8_000, lines: 200 };

/** The text, or its beginning and a note about the rest. */
export function cutText(text: string, { chars, lines }: TextLimit): string {
  const short = text.length > chars ? cutAt(text, chars) : text;
  const rows = short.split("\n");
  const kept = rows.length > lines ? rows.slice(0, lines).join("\n") : short;
  const left = text.length - kept.length;
  return left === 0 ? text : `${kept}\n… cut: ${left} more characters`;
}

/** JSON on one line, cut and clean. A string stands for itself. */
export function jsonLine(value: JsonValue, limit: TextLimit = RESULT_LIMIT): string {
  return cutText(clean(typeof value === "string" ? value : JSON.stringify(value)), limit);
}

export const prettyJson = (value: JsonValue, limit: TextLimit = ANSWER_LIMIT): string =>
  cutText(clean(JSON.stringify(value, null, 2)), limit);
