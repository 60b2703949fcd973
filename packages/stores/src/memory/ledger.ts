import { AwakenError, claimEffect, type LedgerClaim, type LedgerStore, settleEffect, type ThreadCommit } from "@awaken/contract";
import { own, share } from "./own.ts";
import type { Access, Change } from "./tables.ts";

export function ledgerPort({ read }: Access): LedgerStore {
  return {
    load: (idempotencyKey) => read((tables) => share(tables.ledger.get(idempotencyKey))),

    list: (runId, { statuses } = {}) =>
      read((tables) => {
        const entries = (tables.ledgerByRun.get(runId) ?? []).flatMap((key) => tables.ledger.get(key) ?? []);
        return entries.filter((entry) => statuses?.includes(entry.status) ?? true).map(share);
      }),
  };
}

/** Claims and outcomes of a commit. */
export function writeLedger(change: Change, commit: ThreadCommit): void {
  if (commit.ledger === undefined) return;
  const { tables, journal, now } = change;
  const { claims, outcomes } = commit.ledger;
  if (claims.length > 0) checkOwner(change, commit);
  for (const claim of claims) writeClaim(change, commit, claim);
  for (const outcome of outcomes) {
    const owned = { ...outcome, result: own(outcome.result) };
    journal.set(tables.ledger, outcome.idempotencyKey, settleEffect(tables.ledger.get(outcome.idempotencyKey), owned, now));
  }
}

function checkOwner({ tables }: Change, { runId }: ThreadCommit): void {
  const run = tables.runs.get(runId);
  if (run !== undefined && run.status !== "done") return;
  throw new AwakenError(
    "illegal_transition",
    `run '${runId}' ${run === undefined ? "does not exist" : "is done"} and cannot begin an effect`,
  );
}

function writeClaim({ tables, journal, now }: Change, { threadId, runId }: ThreadCommit, claim: LedgerClaim): void {
  const key = claim.idempotencyKey;
  const before = tables.ledger.get(key);
  const owned = { ...claim, input: own(claim.input) };
  journal.set(tables.ledger, key, claimEffect(before, owned, { threadId, runId, now }));
  if (before !== undefined) return;
  const keys = tables.ledgerByRun.get(runId);
  if (keys === undefined) journal.set(tables.ledgerByRun, runId, [key]);
  else journal.push(keys, key);
}
