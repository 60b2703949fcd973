import { AwakenError, isJsonObject, type JsonObject, type JsonValue } from "@awaken/contract";
import { sameJson } from "@awaken/contract/store";

const invalid = () => new AwakenError("invalid_cursor", "the cursor is not one of this list, or of another filter");

const toText = (value: JsonObject): string =>
  btoa(String.fromCharCode(...new TextEncoder().encode(JSON.stringify(value))))
    .replaceAll("+", "-")
    .replaceAll("/", "_")
    .replaceAll("=", "");

function fromText(text: string): unknown {
  const bytes = Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), (char) => char.charCodeAt(0));
  return JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
}

/** A place in a list together with its filter. It says nothing to whoever holds it. */
export const writeCursor = (prefix: string, place: JsonValue, filter: JsonObject): string => `${prefix}_${toText({ place, filter })}`;

/** The place, when the filter is the same. Blank is no cursor. */
export function readCursor(prefix: string, cursor: string | undefined, filter: JsonObject): JsonValue | undefined {
  if (cursor === undefined || cursor.trim() === "") return undefined;
  if (!cursor.startsWith(`${prefix}_`) || cursor.length > 4096) throw invalid();
  let read: unknown;
  try {
    read = fromText(cursor.slice(prefix.length + 1));
  } catch {
    throw invalid();
  }
  if (!isJsonObject(read)) throw invalid();
  const { place, filter: of } = read;
  if (place === undefined || !isJsonObject(of) || !sameJson(of, filter)) throw invalid();
  return place;
}

/** A place of two parts: a number and a text. */
export function pairOf(place: JsonValue | undefined): readonly [number, string] | undefined {
  if (place === undefined) return undefined;
  if (!Array.isArray(place)) throw invalid();
  const [first, second]: readonly unknown[] = place;
  if (typeof first !== "number" || typeof second !== "string" || second.trim() === "") throw invalid();
  return [first, second];
}

export function numberOf(place: JsonValue | undefined): number | undefined {
  if (place === undefined || (typeof place === "number" && Number.isSafeInteger(place))) return place;
  throw invalid();
}
