interface Plain {
  [key: string]: unknown;
}

const isList = (value: object): value is readonly unknown[] => Array.isArray(value);
const isPlain = (value: object): value is Plain => !Array.isArray(value);

/** A copy that nobody else holds: what a caller does to its objects later does not reach the store. For JSON. */
export function own<T>(value: T): T;
export function own(value: unknown): unknown {
  if (typeof value !== "object" || value === null) return value;
  if (isList(value)) return ownList(value);
  return isPlain(value) ? ownObject(value) : value;
}

function ownList(list: readonly unknown[]): unknown[] {
  const copy: unknown[] = [];
  for (let index = 0; index < list.length; index++) {
    const item = list[index];
    copy.push(typeof item === "object" ? own(item) : item);
  }
  return copy;
}

function ownObject(object: Plain): Plain {
  const copy: Plain = {};
  for (const key in object) {
    const item = object[key];
    const owned = typeof item === "object" ? own(item) : item;
    if (key === "__proto__") Object.defineProperty(copy, key, { value: owned, enumerable: true, configurable: true, writable: true });
    else copy[key] = owned;
  }
  return copy;
}

/** What the store gives away: its own row, frozen for good the first time. */
export function share<T>(row: T): T;
export function share(row: unknown): unknown {
  if (typeof row !== "object" || row === null || Object.isFrozen(row)) return row;
  Object.freeze(row);
  if (isList(row)) for (const item of row) share(item);
  else if (isPlain(row)) for (const key in row) share(row[key]);
  return row;
}
