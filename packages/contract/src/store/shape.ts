import { isJson, isJsonObject, isPlainList, isPlainObject } from "../json.ts";

// Hand-written twins of schemas, for values that are written all the time. They allocate nothing and say only yes or no. A record kind
// asks its twin first; the schema explains a no and has the last word.

/** True when the schema would give the value back unchanged. `depth` is how far the value lies inside its record. */
export type Check = (value: unknown, depth: number) => boolean;

type Checks = { readonly [key: string]: Check };
interface Field {
  readonly check: Check;
  readonly isRequired: 0 | 1;
}

/** A plain object with these fields and no other one. */
export function shape(required: Checks, optional: Checks = {}): Check {
  const fields = new Map<string, Field>();
  for (const [key, check] of Object.entries(optional)) fields.set(key, { check, isRequired: 0 });
  for (const [key, check] of Object.entries(required)) fields.set(key, { check, isRequired: 1 });
  const count = Object.keys(required).length;
  // The keys of one record mostly come in the order of the record before it: then no key has to be looked up.
  const lastKeys: string[] = [];
  const lastFields: Field[] = [];
  return (value, depth) => {
    if (!isPlainObject(value)) return false;
    let missing = count;
    let at = 0;
    for (const key in value) {
      let field = lastKeys[at] === key ? lastFields[at] : undefined;
      if (field === undefined) {
        field = fields.get(key);
        if (field === undefined) return false;
        lastKeys[at] = key;
        lastFields[at] = field;
      }
      if (!field.check(value[key], depth + 1)) return false;
      missing -= field.isRequired;
      at++;
    }
    return missing === 0;
  };
}

/** A plain object whose field `key` says which of the checks it has to pass. */
export function tagged(key: string, branches: Checks): Check {
  const byTag = new Map(Object.entries(branches));
  return (value, depth) => {
    // The branch looks at the rest, also whether the object is plain.
    if (!isJsonObject(value)) return false;
    const tag: unknown = value[key];
    const branch = typeof tag === "string" ? byTag.get(tag) : undefined;
    return branch?.(value, depth) ?? false;
  };
}

export const listOf =
  (check: Check): Check =>
  (value, depth) => {
    if (!isPlainList(value)) return false;
    for (let index = 0; index < value.length; index++) if (!check(value[index], depth + 1)) return false;
    return true;
  };

/** A plain object with any keys. `__proto__` is none: schemas drop it. */
export const mapOf =
  (check: Check): Check =>
  (value, depth) => {
    if (!isPlainObject(value)) return false;
    for (const key in value) if (key === "__proto__" || !check(value[key], depth + 1)) return false;
    return true;
  };

/** As `check`, and the rule holds for what passed it. */
export const refined =
  <T>(check: Check, rule: (value: T) => boolean): Check =>
  (value, depth) =>
    passes<T>(value, depth, check) && rule(value);

const passes = <T>(value: unknown, depth: number, check: Check): value is T => check(value, depth);

export const is =
  (literal: string | number): Check =>
  (value) =>
    value === literal;

export const oneOf =
  (literals: readonly unknown[]): Check =>
  (value) =>
    literals.includes(value);

/** A printable character of ASCII; of no character at all it is false. */
const isWord = (code: number): boolean => code > 0x20 && code < 0x7f;

export const isString: Check = (value) => typeof value === "string";
export const isBoolean: Check = (value) => typeof value === "boolean";
export const isText: Check = (value) => typeof value === "string" && (isWord(value.charCodeAt(0)) || value.trim() !== "");
export const isNumber: Check = (value) => Number.isFinite(value);
export const isCount: Check = (value) => typeof value === "number" && Number.isSafeInteger(value) && value >= 0;
export const isPosition: Check = (value) => typeof value === "number" && Number.isSafeInteger(value) && value > 0;
export const isTime: Check = (value) => typeof value === "number" && value >= 0 && value < Number.POSITIVE_INFINITY;
export const isJsonValue: Check = (value, depth) => isJson(value, depth);
export const isObject: Check = (value, depth) => isJsonObject(value) && isJson(value, depth);

const MAX_PAIRS = 16;

/** No two ids are equal; undefined ones do not count. */
export function areUnique<T>(items: readonly T[], idOf: (item: T) => string | undefined): boolean {
  if (items.length > MAX_PAIRS) return areManyUnique(items, idOf);
  for (let index = 1; index < items.length; index++) {
    const item = items[index];
    const id = item === undefined ? undefined : idOf(item);
    if (id === undefined) continue;
    for (let other = 0; other < index; other++) {
      const before = items[other];
      if (before !== undefined && idOf(before) === id) return false;
    }
  }
  return true;
}

function areManyUnique<T>(items: readonly T[], idOf: (item: T) => string | undefined): boolean {
  const seen = new Set<string>();
  for (const item of items) {
    const id = idOf(item);
    if (id === undefined) continue;
    if (seen.has(id)) return false;
    seen.add(id);
  }
  return true;
}
