const isList = (value: object): value is readonly unknown[] => Array.isArray(value);

/** A copy that nobody else holds: what a caller does to its objects later does not reach the store. For JSON. */
export function own<T>(value: T): T;
export function own(value: unknown): unknown {
  if (typeof value !== "object" || value === null) return value;
  if (isList(value)) {
    const list: unknown[] = new Array(value.length);
    for (let index = 0; index < value.length; index++) list[index] = own(value[index]);
    return list;
  }
  const copy: Record<string, unknown> = {};
  for (const key in value) {
    const item: unknown = Reflect.get(value, key);
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
  else for (const key in row) share(Reflect.get(row, key));
  return row;
}
