interface Plain {
  [key: string]: unknown;
}

const isList = (value: object): value is readonly unknown[] => Array.isArray(value);
const isPlain = (value: object): value is Plain => !Array.isArray(value);

/** Most records have some list or object with nothing in it: one stands for all of them. */
const NO_ITEMS: readonly never[] = Object.freeze([]);
const NO_FIELDS: Plain = Object.freeze({});

/** A copy that nobody else holds: what a caller does to its objects later does not reach the store. For JSON. */
export function own<T>(value: T): T;
export function own(value: unknown): unknown {
  if (typeof value === "string") return flat(value);
  if (typeof value !== "object" || value === null) return value;
  if (isList(value)) return ownList(value);
  return isPlain(value) ? ownObject(value) : value;
}

/** The same, unless it was handed over: then it is the store's own already. */
export const ownUnless = <T>(isHandedOver: boolean, value: T): T => (isHandedOver ? value : own(value));

function ownList(list: readonly unknown[]): readonly unknown[] {
  if (list.length === 0) return NO_ITEMS;
  // A slice takes no more room than its items; a list that grows keeps room for sixteen.
  const copy = list.slice();
  for (let index = 0; index < copy.length; index++) {
    const item = copy[index];
    if (typeof item === "object") copy[index] = own(item);
    else if (typeof item === "string") flat(item);
  }
  return copy;
}

function ownObject(object: Plain): Plain {
  // A spread takes no more room than its fields, and a field called `__proto__` is a field like any other.
  const copy = { ...object };
  let isEmpty = true;
  for (const key in copy) {
    isEmpty = false;
    const item = copy[key];
    if (typeof item === "object") copy[key] = own(item);
    else if (typeof item === "string") flat(item);
  }
  return isEmpty ? NO_FIELDS : copy;
}

/** As `own`, for an object with one field that is mostly the same as `like`, which is the store's own: then it is kept once. */
export function ownWith<T extends object, Key extends keyof T & string>(object: T, field: Key, like: T[Key] | undefined): T;
export function ownWith(object: Plain, field: string, like: unknown): Plain {
  const copy = { ...object };
  for (const key in copy) {
    const item = copy[key];
    if (typeof item === "object") copy[key] = key === field && isSame(item, like) ? like : own(item);
    else if (typeof item === "string") flat(item);
  }
  return copy;
}

/** Longer than an id: what is shorter has few pieces. */
const ROPE = 64;
/** Written so that no compiler leaves the look out. */
const look = { code: 0 };

/**
 * A text that grew delta by delta is a tree of all its pieces, each of them larger than most deltas. Whoever looks at a character makes
 * one piece of it, for all who hold the string.
 */
export function flat(text: string): string {
  if (text.length >= ROPE) look.code = text.charCodeAt(0);
  return text;
}

/** The same JSON with its fields in the same order. */
export function isSame(value: unknown, like: unknown): boolean {
  if (typeof value !== "object" || value === null) return value === like;
  if (typeof like !== "object" || like === null) return false;
  if (isList(value)) return isList(like) && isSameList(value, like);
  return isPlain(value) && isPlain(like) && isSameObject(value, like);
}

function isSameList(list: readonly unknown[], like: readonly unknown[]): boolean {
  if (list.length !== like.length) return false;
  for (let index = 0; index < list.length; index++) if (!isSame(list[index], like[index])) return false;
  return true;
}

function isSameObject(object: Plain, like: Plain): boolean {
  const keys = Object.keys(like);
  let at = 0;
  for (const key in object) if (key !== keys[at++] || !isSame(object[key], like[key])) return false;
  return at === keys.length;
}

/** What the store gives away: its own row, frozen for good the first time. */
export function share<T>(row: T): T;
export function share(row: unknown): unknown {
  if (typeof row !== "object" || row === null || Object.isFrozen(row)) return row;
  Object.freeze(row);
  if (isList(row)) for (const item of row) share(item);
  else if (isPlain(row)) for (const key in row) if (typeof row[key] === "object") share(row[key]);
  return row;
}
