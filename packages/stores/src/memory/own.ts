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
  // A slice takes no more room than its items; a list that grows keeps room for sixteen.
  const copy = list.slice();
  for (let index = 0; index < copy.length; index++) {
    const item = copy[index];
    if (typeof item === "object") copy[index] = own(item);
  }
  return copy;
}

function ownObject(object: Plain): Plain {
  // A spread takes no more room than its fields, and a field called `__proto__` is a field like any other.
  const copy = { ...object };
  for (const key in copy) {
    const item = copy[key];
    if (typeof item === "object") copy[key] = own(item);
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
