export interface Plain {
  [key: string]: unknown;
}

export const isList = (value: object): value is readonly unknown[] => Array.isArray(value);
export const isPlain = (value: object): value is Plain => !Array.isArray(value);

/** Longer than an id: what is shorter has few pieces. */
const ROPE = 64;
/** Called, and not assigned to, so that neither a compiler nor a minifier leaves the look out. */
const look = new Uint16Array(1);

/**
 * A text that grew delta by delta is a tree of all its pieces, each of them larger than most deltas. Whoever looks at a character makes
 * one piece of it, for all who hold the string.
 */
export function flat(text: string): string {
  if (text.length >= ROPE) look.fill(text.charCodeAt(0));
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
