import { isJsonObject, type JsonValue } from "@awaken/contract";

function sorted(value: JsonValue): JsonValue {
  if (Array.isArray(value)) return value.map(sorted);
  if (!isJsonObject(value)) return value;
  const names = Object.keys(value).sort();
  return Object.fromEntries(names.map((name) => [name, sorted(value[name] ?? null)]));
}

/** Compact JSON with sorted keys: the same text for the same value. */
export const jsonText = (value: JsonValue): string => JSON.stringify(sorted(value));

/** What patterns compare: a string as it is, nothing for null, what is printed of a number or boolean, else the JSON text. */
export function valueText(value: JsonValue): string {
  if (typeof value === "string") return value;
  if (value === null) return "";
  return typeof value === "object" ? jsonText(value) : String(value);
}
