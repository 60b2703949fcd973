import { clampLimit } from "@awaken/contract/store";

/** The first items in some order, and whether there are more behind them. */
export interface Picked<T> {
  readonly items: readonly T[];
  readonly hasMore: boolean;
}

export type Compare<T> = (a: T, b: T) => number;

/** Looks at each item once and sorts no more than a page of them. */
export function pickFirst<T>(items: Iterable<T>, compare: Compare<T>, limit?: number): Picked<T> {
  const size = clampLimit(limit);
  const page: T[] = [];
  for (const item of items) {
    const last = page.length > size ? page.at(-1) : undefined;
    if (last !== undefined && compare(item, last) >= 0) continue;
    page.splice(placeOf(page, item, compare), 0, item);
    if (page.length > size + 1) page.pop();
  }
  return { items: page.slice(0, size), hasMore: page.length > size };
}

function placeOf<T>(sorted: readonly T[], item: T, compare: Compare<T>): number {
  let low = 0;
  let high = sorted.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    const other = sorted[middle];
    if (other !== undefined && compare(other, item) <= 0) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Code unit order, the same on every engine. */
export const compareText = (a: string, b: string): number => (a === b ? 0 : a < b ? -1 : 1);
