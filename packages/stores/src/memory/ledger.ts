import type { LedgerStore } from "@awaken/contract/store";
import type { LedgerPlan } from "../plan/ledger-plan.ts";
import type { Copies } from "./own.ts";
import { share } from "./share.ts";
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
export function writeLedger({ tables, journal }: Change, { added, changed }: LedgerPlan, copies: Copies | undefined): void {
  for (const entry of added) {
    const { runId, idempotencyKey: key } = entry;
    journal.put(tables.ledger, key, copies === undefined ? entry : copies.own(entry), undefined);
    const keys = tables.ledgerByRun.get(runId);
    if (keys === undefined) journal.put(tables.ledgerByRun, runId, [key], undefined);
    else journal.push(keys, key);
  }
  for (const entry of changed) journal.set(tables.ledger, entry.idempotencyKey, copies === undefined ? entry : copies.own(entry));
}
