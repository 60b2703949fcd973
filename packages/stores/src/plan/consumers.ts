import type { ClaimedDispatch, Consumer } from "@awaken/contract/store";

/** Who holds these claims, by the end of their first lease. */
export function toConsumers(claims: readonly ClaimedDispatch[], now: number): readonly Consumer[] {
  const ends = new Map<string, number>();
  for (const { claimedBy, leaseUntil } of claims) ends.set(claimedBy, Math.min(ends.get(claimedBy) ?? leaseUntil, leaseUntil));
  return [...ends].sort(([, a], [, b]) => a - b).map(([name, end]) => ({ name, leaseEndsInMs: Math.max(0, end - now) }));
}

/** So many claims are looked at to find out who holds some: a process has one name for all of its own. */
export const MAX_CLAIMS = 10_000;
