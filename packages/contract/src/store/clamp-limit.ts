import { DEFAULT_LIMIT, MAX_LIMIT } from "./page.ts";

/** Every `limit` of a store goes through this: 1 to 200, and 50 when it is absent or no number. */
export function clampLimit(limit: number = DEFAULT_LIMIT): number {
  if (Number.isNaN(limit)) return DEFAULT_LIMIT;
  return Math.min(Math.max(Math.trunc(limit), 1), MAX_LIMIT);
}
