import type { LedgerStore, MessageStore, RunStore, ThreadStore } from "@awaken/contract/store";
import type { CommitStore } from "../commit/commit-store.ts";

interface Records extends CommitStore {
  readonly threads: Pick<ThreadStore, "load" | "loadHead">;
  readonly runs: Pick<RunStore, "load" | "list" | "listByTicket" | "listOpenTickets">;
  readonly messages: Pick<MessageStore, "load" | "list">;
}

/** Records that go with the process. */
export interface VolatileRecords extends Records {
  readonly ledger: undefined;
}

export interface LastingRecords extends Records {
  readonly ledger: Pick<LedgerStore, "load" | "list">;
}

/** What runs need of a store. */
export type RunRecords = VolatileRecords | LastingRecords;
