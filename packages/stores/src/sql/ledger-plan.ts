import { AwakenError, claimEffect, type LedgerEntry, type RunRecord, settleEffect, type ThreadCommit } from "@awaken/contract";

/** Rows of effects that nobody claimed before, and rows that others know already. */
export interface LedgerPlan {
  readonly added: readonly LedgerEntry[];
  readonly changed: readonly LedgerEntry[];
}

type Load = (key: string) => LedgerEntry | undefined;

export function planLedger({ threadId, runId, ledger }: ThreadCommit, run: RunRecord | undefined, load: Load, now: number): LedgerPlan {
  if (ledger === undefined) return { added: [], changed: [] };
  if (ledger.claims.length > 0 && (run === undefined || run.status === "done")) {
    const why = run === undefined ? "does not exist" : "is done";
    throw new AwakenError("illegal_transition", `run '${runId}' ${why} and cannot claim effects`, { details: { runId } });
  }
  const entries = new Map<string, LedgerEntry>();
  for (const claim of ledger.claims) {
    entries.set(claim.idempotencyKey, claimEffect(load(claim.idempotencyKey), claim, { threadId, runId, now }));
  }
  for (const outcome of ledger.outcomes) {
    const before = entries.get(outcome.idempotencyKey) ?? load(outcome.idempotencyKey);
    entries.set(outcome.idempotencyKey, settleEffect(before, outcome, now));
  }
  const isKnown = ({ idempotencyKey }: LedgerEntry) => load(idempotencyKey) !== undefined;
  return { added: [...entries.values()].filter((entry) => !isKnown(entry)), changed: [...entries.values()].filter(isKnown) };
}

/** The time of its last change. */
export const ledgerTime = (entry: LedgerEntry): number => (entry.status === "claimed" ? entry.claimedAt : entry.settledAt);
