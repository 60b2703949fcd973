import { AwakenError, claimEffect, type LedgerEntry, type RunRecord, settleEffect, type ThreadCommit } from "@awaken/contract";

/** The rows that the claims and outcomes of a commit leave behind, claims first. */
export function planLedger(
  { threadId, runId, ledger }: ThreadCommit,
  run: RunRecord | undefined,
  load: (key: string) => LedgerEntry | undefined,
  now: number,
): readonly LedgerEntry[] {
  if (ledger === undefined) return [];
  if (ledger.claims.length > 0 && (run === undefined || run.status === "done")) {
    throw new AwakenError(
      "illegal_transition",
      `run '${runId}' ${run === undefined ? "does not exist" : "is done"} and cannot claim effects`,
      {
        details: { runId },
      },
    );
  }
  const entries = new Map<string, LedgerEntry>();
  for (const claim of ledger.claims) {
    entries.set(claim.idempotencyKey, claimEffect(load(claim.idempotencyKey), claim, { threadId, runId, now }));
  }
  for (const outcome of ledger.outcomes) {
    const before = entries.get(outcome.idempotencyKey) ?? load(outcome.idempotencyKey);
    entries.set(outcome.idempotencyKey, settleEffect(before, outcome, now));
  }
  return [...entries.values()];
}

/** The time of its last change. */
export const ledgerTime = (entry: LedgerEntry): number => (entry.status === "claimed" ? entry.claimedAt : entry.settledAt);
