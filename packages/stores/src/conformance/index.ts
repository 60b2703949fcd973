import type { Store } from "@awaken/contract";
import { describe } from "vitest";
import { atomicityConformance } from "./atomicity.ts";
import { checkpointConformance } from "./checkpoints.ts";
import { commitConformance } from "./commit.ts";
import { corruptionConformance } from "./corruption.ts";
import { dispatchConformance } from "./dispatches.ts";
import { eventConformance } from "./events.ts";
import { ledgerConformance } from "./ledger.ts";
import { lifecycleConformance } from "./lifecycle.ts";
import { messageConformance } from "./messages.ts";
import { pendingConformance } from "./pending.ts";
import { queueConformance } from "./queue.ts";
import { runConformance } from "./runs.ts";
import { scopeConformance } from "./scopes.ts";
import { smallStoreConformance } from "./small-stores.ts";
import { threadConformance } from "./threads.ts";
import { transactionConformance } from "./transactions.ts";
import { type ConformanceHooks, storeTest } from "./world.ts";

export type { ConformanceHooks, StoredRow } from "./world.ts";

/**
 * Declares the tests that every store has to pass, with vitest, in the test file that calls it. `open` is called once per test and gives
 * an empty store that takes its times from `clock`; the suite closes it.
 */
export function storeConformance(name: string, open: (clock: () => number) => Promise<Store> | Store, hooks: ConformanceHooks = {}): void {
  const it = storeTest({ open, hooks });
  describe(`${name}: conformance`, () => {
    threadConformance(it);
    messageConformance(it);
    checkpointConformance(it);
    runConformance(it);
    commitConformance(it);
    atomicityConformance(it);
    transactionConformance(it);
    pendingConformance(it);
    dispatchConformance(it);
    queueConformance(it, hooks);
    eventConformance(it);
    ledgerConformance(it);
    smallStoreConformance(it, hooks);
    scopeConformance(it);
    lifecycleConformance(it);
    corruptionConformance(it, hooks);
  });
}
