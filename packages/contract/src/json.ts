/** What survives `JSON.parse(JSON.stringify(x))` unchanged. Everything that is stored or sent is made of it. */
export type JsonValue = string | number | boolean | null | readonly JsonValue[] | JsonObject;

export interface JsonObject {
  readonly [key: string]: JsonValue;
}

export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

const MAX_DEPTH = 512;

/** True for what JSON can carry without loss. Walks the value; deep or cyclic ones count as not JSON. */
export function isJson(value: unknown, depth = 0): value is JsonValue {
  switch (typeof value) {
    case "string":
    case "boolean":
      return true;
    case "number":
      return Number.isFinite(value);
    case "object":
      break;
    default:
      return false;
  }
  if (value === null) return true;
  if (depth > MAX_DEPTH || ("toJSON" in value && typeof value.toJSON === "function")) return false;
  if (Array.isArray(value)) return value.every((item) => isJson(item, depth + 1));
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== null) return false;
  for (const key in value) if (!isJson(Reflect.get(value, key), depth + 1)) return false;
  return true;
}

/** The value as JSON would carry it: itself when it is plain, else what a round trip makes of it. Throws on what JSON cannot express. */
export function toJson(value: unknown): JsonValue {
  if (value === undefined) return null;
  if (isJson(value)) return value;
  const text = JSON.stringify(value);
  if (text === undefined) throw new TypeError(`a ${typeof value} cannot be expressed in JSON`);
  return JSON.parse(text);
}
