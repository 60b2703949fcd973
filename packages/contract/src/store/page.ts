export const DEFAULT_LIMIT = 50;
export const MAX_LIMIT = 200;

/** One page. `next` is the position of its last item, given when there is more; a page is read strictly after a position. */
export interface Page<T, Position> {
  readonly items: readonly T[];
  readonly next?: Position;
}

export type Order = "ascending" | "descending";
