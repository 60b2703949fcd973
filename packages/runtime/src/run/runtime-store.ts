import type { ScopeId } from "@awaken/contract";
import type { EventStore, LiveStore, ProfileStore, StreamCheckpointStore } from "@awaken/contract/store";
import type { LastingRecords } from "../loop/run-records.ts";

/** What a runtime calls of a store, for one tenant. The commits that it is given have no part of a queue. */
export interface TenantStore extends LastingRecords {
  /** Values that outlive threads. */
  readonly profiles: ProfileStore;
  /** Only a runtime that keeps its streams asks for it. */
  readonly streamCheckpoints?: StreamCheckpointStore;
  /** What whoever attaches reads; without it nobody can. */
  readonly events?: Pick<EventStore, "list" | "loadHead">;
  /** Wakes whoever attaches or waits; without it they ask again and again. */
  readonly live?: LiveStore;
}

/** The store of all tenants, as far as a runtime calls it: the records of the default tenant, and those of any other one. */
export interface RuntimeStore extends TenantStore {
  /** Cheap, and nothing to close. */
  scoped(scopeId: ScopeId): TenantStore;
}
