import type { QueueStore, Store } from "@awaken/contract/store";
import { describe } from "vitest";
import { atomicityConformance } from "./atomicity.ts";
import { claimConformance, claimCorruptionConformance } from "./claims.ts";
import { commitConformance } from "./commit.ts";
import { corruptionConformance, queueCorruptionConformance } from "./corruption.ts";
import { deadLetterConformance } from "./dead-letters.ts";
import { dispatchConformance } from "./dispatches.ts";
import { durabilityConformance } from "./durability.ts";
import { eventConformance } from "./events.ts";
import { familyConformance } from "./families.ts";
import { handedInConformance, queueHandedInConformance } from "./handed-in.ts";
import { headConformance } from "./heads.ts";
import { ledgerConformance } from "./ledger.ts";
import { lifecycleConformance, queueLifecycleConformance } from "./lifecycle.ts";
import { liveConformance } from "./live.ts";
import { messageConformance } from "./messages.ts";
import { outboundConformance, queueOutboundConformance } from "./outbound.ts";
import { pendingConformance } from "./pending.ts";
import { allQueuesConformance } from "./queue.ts";
import { queueCommitConformance } from "./queue-commits.ts";
import { queueOrderConformance } from "./queue-order.ts";
import { rewindConformance } from "./rewind.ts";
import { runConformance } from "./runs.ts";
import { queueScopeConformance, scopeConformance } from "./scopes.ts";
import { sharedLogConformance } from "./shared-logs.ts";
import { smallStoreConformance } from "./small-stores.ts";
import { threadConformance } from "./threads.ts";
import { queueTransactionConformance, transactionConformance } from "./transactions.ts";
import { fenceConformance, queueWishConformance, wishConformance } from "./wishes.ts";
import { type ConformanceHooks, storeTest } from "./world.ts";

/**
 * Declares the tests that every store has to pass, with vitest, in the test file that calls it. `open` is called once per test and gives
 * an empty store that takes its times from `clock`; the suite closes it. A store with a queue also calls `queueConformance`.
 */
// Public: for stores of others.
export function storeConformance<S extends Store>(
  name: string,
  open: (clock: () => number) => Promise<S> | S,
  hooks: ConformanceHooks<S>,
): void {
  const it = storeTest({ open, hooks });
  describe(`${name}: conformance`, () => {
    threadConformance(it);
    messageConformance(it);
    headConformance(it);
    runConformance(it);
    commitConformance(it);
    atomicityConformance(it);
    transactionConformance(it);
    eventConformance(it);
    liveConformance(it, hooks);
    ledgerConformance(it);
    wishConformance(it);
    outboundConformance(it);
    familyConformance(it);
    rewindConformance(it);
    smallStoreConformance(it, hooks);
    handedInConformance(it);
    sharedLogConformance(it);
    scopeConformance(it);
    lifecycleConformance(it);
    corruptionConformance(it, hooks);
    durabilityConformance({ open, hooks });
  });
}

/** As `storeConformance`, for the queue half: pending messages, dispatches, and the commits that move them. */
// Public: for stores of others.
export function queueConformance<S extends QueueStore>(
  name: string,
  open: (clock: () => number) => Promise<S> | S,
  hooks: ConformanceHooks<S>,
): void {
  const it = storeTest({ open, hooks });
  describe(`${name}: conformance of the queue`, () => {
    pendingConformance(it);
    dispatchConformance(it);
    queueOrderConformance(it);
    claimConformance(it);
    deadLetterConformance(it);
    allQueuesConformance(it, hooks);
    queueCommitConformance(it);
    fenceConformance(it);
    queueWishConformance(it);
    queueOutboundConformance(it);
    queueTransactionConformance(it);
    queueHandedInConformance(it);
    queueScopeConformance(it);
    queueLifecycleConformance(it);
    queueCorruptionConformance(it, hooks);
    claimCorruptionConformance(it, hooks);
  });
}
// Public: for the tests of a store that somebody else writes.
export type { ConformanceHooks, StoredRow } from "./world.ts";
