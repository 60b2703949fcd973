import { AwakenError, type RunRecord } from "@awaken/contract";
import { claimEffect, isComposed, type LedgerEntry, settleEffect, type ThreadCommit } from "@awaken/contract/store";

/** Rows of effects that nobody claimed before, and rows that others know already. */
export interface LedgerPlan {
  readonly added: readonly LedgerEntry[];
  readonly changed: readonly LedgerEntry[];
}

const NOTHING: LedgerPlan = { added: [], changed: [] };

interface LedgerReads {
  ledger(key: string): LedgerEntry | undefined;
}

export function planLedger(commit: ThreadCommit, run: RunRecord | undefined, reads: LedgerReads, now: number): LedgerPlan {
  const { threadId, runId, ledger } = commit;
  if (ledger === undefined) return NOTHING;
  if (ledger.claims.length > 0 && (run === undefined || run.status === "done")) {
    const why = run === undefined ? "does not exist" : "is done";
    throw new AwakenError("illegal_transition", `run '${runId}' ${why} and cannot claim effects`, { details: { runId } });
  }
  const isVouched = isComposed(commit);
  const added: LedgerEntry[] = [];
  const changed: LedgerEntry[] = [];
  for (const claim of ledger.claims) {
    const before = reads.ledger(claim.idempotencyKey);
    (before === undefined ? added : changed).push(claimEffect(before, claim, { threadId, runId, now }, isVouched));
  }
  const claimed = new Map([...added, ...changed].map((entry) => [entry.idempotencyKey, entry]));
  for (const outcome of ledger.outcomes) {
    const own = claimed.get(outcome.idempotencyKey);
    const settled = settleEffect(own ?? reads.ledger(outcome.idempotencyKey), outcome, now, isVouched);
    const entries = own !== undefined && added.includes(own) ? added : changed;
    if (own === undefined) entries.push(settled);
    else entries[entries.indexOf(own)] = settled;
  }
  return { added, changed };
}

/** The time of its last change. */
export const ledgerTime = (entry: LedgerEntry): number => (entry.status === "claimed" ? entry.claimedAt : entry.settledAt);
