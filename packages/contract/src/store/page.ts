export const DEFAULT_LIMIT = 50;
export const MAX_LIMIT = 200;

/** Every `limit` of a store goes through this: 1 to 200, and 50 when it is absent or no number. */
export function clampLimit(limit: number = DEFAULT_LIMIT): number {
  if (Number.isNaN(limit)) return DEFAULT_LIMIT;
  return Math.min(Math.max(Math.trunc(limit), 1), MAX_LIMIT);
}

/** One page. `next` is the position of its last item, given when there is more; a page is read strictly after a position. */
export interface Page<T, Position> {
  readonly items: readonly T[];
  readonly next?: Position;
}

export type Order = "ascending" | "descending";
