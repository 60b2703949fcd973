import type { Journal } from "./journal.ts";

/** Mostly there is one: a list of it would be two objects more for each thread. */
export type Ids<Id extends string> = Id | Id[] | undefined;

export function idsOf<Id extends string>(ids: Ids<Id>): Id[] {
  if (ids === undefined) return [];
  return typeof ids === "object" ? ids : [ids];
}

export function countOf(ids: Ids<string>): number {
  if (ids === undefined) return 0;
  return typeof ids === "object" ? ids.length : 1;
}

/** Whoever has the list keeps it in step with what the journal takes back. */
export function withId<Id extends string>(ids: Ids<Id>, id: Id, journal: Journal): Ids<Id> {
  if (ids === undefined) return id;
  return typeof ids === "object" ? journal.extended(ids, [id]) : [ids, id];
}

export function withoutId<Id extends string>(ids: Ids<Id>, id: Id): Ids<Id> {
  if (typeof ids === "object") return ids.filter((other) => other !== id);
  return ids === id ? undefined : ids;
}
