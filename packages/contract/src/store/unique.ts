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
