import { AwakenError, type RunRecord } from "@awaken/contract";
import { claimEffect, type LedgerEntry, settleEffect, type ThreadCommit } from "@awaken/contract/store";

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
  const known = new Map([...ledger.claims, ...ledger.outcomes].map(({ idempotencyKey: key }) => [key, reads.ledger(key)]));
  const entries = new Map<string, LedgerEntry>();
  for (const claim of ledger.claims) {
    entries.set(claim.idempotencyKey, claimEffect(known.get(claim.idempotencyKey), claim, { threadId, runId, now }));
  }
  for (const outcome of ledger.outcomes) {
    const before = entries.get(outcome.idempotencyKey) ?? known.get(outcome.idempotencyKey);
    entries.set(outcome.idempotencyKey, settleEffect(before, outcome, now));
  }
  const isNew = ({ idempotencyKey }: LedgerEntry) => known.get(idempotencyKey) === undefined;
  const all = [...entries.values()];
  return { added: all.filter(isNew), changed: all.filter((entry) => !isNew(entry)) };
}

/** The time of its last change. */
export const ledgerTime = (entry: LedgerEntry): number => (entry.status === "claimed" ? entry.claimedAt : entry.settledAt);
