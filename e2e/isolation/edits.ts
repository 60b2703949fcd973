/** Edits all that can be edited, to the bottom. What is frozen stays as it is. */
export function vandalise(value: unknown, seen = new Set<object>()): void {
  if (typeof value !== "object" || value === null || seen.has(value)) return;
  seen.add(value);
  for (const [name, item] of Object.entries(value)) {
    if (typeof item === "object") vandalise(item, seen);
    else Reflect.set(value, name, typeof item === "number" ? 666 : "vandalised");
  }
  if (Array.isArray(value)) {
    if (!Object.isFrozen(value)) value.push("vandalised");
  } else Reflect.set(value, "vandalised", true);
}

/** All that is frozen in it. */
export function frozenIn(value: unknown, seen = new Set<object>()): object[] {
  if (typeof value !== "object" || value === null || seen.has(value)) return [];
  seen.add(value);
  return [...(Object.isFrozen(value) ? [value] : []), ...Object.values(value).flatMap((item) => frozenIn(item, seen))];
}
