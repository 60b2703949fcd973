/** What survives `JSON.parse(JSON.stringify(x))` unchanged. Everything that is stored or sent is made of it. */
export type JsonValue = string | number | boolean | null | readonly JsonValue[] | JsonObject;

export interface JsonObject {
  readonly [key: string]: JsonValue;
}

export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

const MAX_DEPTH = 512;
/** Values of others are taken as deep as JSON may be, and a record is a few levels around them: it may be that much deeper. */
export const AROUND_VALUES = -64;

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
  if (depth > MAX_DEPTH) return false;
  if (Array.isArray(value)) return !speaksForItself(value) && isJsonList(value, depth + 1);
  return isPlainObject(value) && hasJsonValues(value, depth + 1);
}

/** A hole counts as undefined: JSON would make a null of it. */
function isJsonList(list: readonly unknown[], depth: number): boolean {
  for (let index = 0; index < list.length; index++) if (!isJson(list[index], depth)) return false;
  return true;
}

function hasJsonValues(object: { readonly [key: string]: unknown }, depth: number): boolean {
  for (const key in object) {
    const item = object[key];
    if (typeof item !== "string" && !isJson(item, depth)) return false;
  }
  return true;
}

interface MaySpeak {
  readonly toJSON?: unknown;
  toString(): string;
}

/** JSON would ask it what to write instead. */
const speaksForItself = (value: MaySpeak): boolean => typeof value.toJSON === "function";

/** An object as a literal makes it, or without a prototype. What is in it is not looked at. */
export function isPlainObject(value: unknown): value is { readonly [key: string]: unknown } {
  if (typeof value !== "object" || value === null) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return (prototype === Object.prototype || prototype === null) && !speaksForItself(value);
}

export const isPlainList = (value: unknown): value is readonly unknown[] => Array.isArray(value) && !speaksForItself(value);

/** The value as JSON would carry it: itself when it is plain, else what a round trip makes of it. Throws on what JSON cannot express. */
export function toJson(value: unknown): JsonValue {
  if (value === undefined) return null;
  if (isJson(value)) return value;
  const text = JSON.stringify(value);
  if (text === undefined) throw new TypeError(`a ${typeof value} cannot be expressed in JSON`);
  return JSON.parse(text);
}

/** A copy that nobody else holds. For what was seen to be JSON: it is not checked again. */
export function copyJson<T>(value: T): T;
export function copyJson(value: unknown): unknown {
  if (typeof value !== "object" || value === null) return value;
  return Array.isArray(value) ? copyList(value) : copyFields(value);
}

function copyList(list: readonly unknown[]): readonly unknown[] {
  // A slice of a list that is frozen is made item by item, and each that is put into it asks the engine.
  const copy = new Array<unknown>(list.length);
  for (let index = 0; index < list.length; index++) copy[index] = copyJson(list[index]);
  return copy;
}

function copyFields(object: object): object {
  // A spread makes a field of what is called `__proto__`, too.
  const copy: { [key: string]: unknown } = { ...object };
  for (const key in copy) if (typeof copy[key] === "object") copy[key] = copyJson(copy[key]);
  return copy;
}

/** Freezes it to the bottom; what is frozen was frozen so before. For JSON that is our own. */
export function freezeJson(value: unknown): void {
  if (typeof value === "object" && value !== null && !Object.isFrozen(value)) freezeMade(value);
}

/** The same for one that was just made, which nobody has frozen: to ask costs as much as to do it. */
export function freezeMade(value: object): void {
  Object.freeze(value);
  if (Array.isArray(value)) for (let index = 0; index < value.length; index++) freezeJson(value[index]);
  // Most of what is in one is text, which is not worth a call.
  else if (isJsonObject(value)) for (const key in value) if (typeof value[key] === "object") freezeJson(value[key]);
}

/** Equal as JSON: the order of keys and undefined properties do not count. */
export function sameJson(a: unknown, b: unknown): boolean {
  if (Object.is(a, b)) return true;
  if (Array.isArray(a)) {
    return Array.isArray(b) && a.length === b.length && a.every((item, index) => sameJson(item, b[index]));
  }
  if (!isJsonObject(a) || !isJsonObject(b)) return a === b;
  const keysOf = (object: JsonObject) => Object.keys(object).filter((key) => object[key] !== undefined);
  const keys = keysOf(a);
  return keys.length === keysOf(b).length && keys.every((key) => Object.hasOwn(b, key) && sameJson(a[key], b[key]));
}
