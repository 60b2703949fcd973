import type { ScopeId } from "@awaken/contract";
import type { DispatchQueue, QueuePorts, QueueStore, ScopedQueueStore, StorePorts } from "@awaken/contract/store";

/** What the mailbox calls of a store, for one tenant. */
export interface TenantQueue extends Pick<StorePorts, "runs" | "threads" | "messages" | "events" | "wishes" | "commit">, QueuePorts {
  readonly scopeId: ScopeId;
  transaction: ScopedQueueStore["transaction"];
}

/** The same of all tenants. */
export interface QueueOfAll extends TenantQueue, Pick<QueueStore, "sweep"> {
  scoped(scopeId: ScopeId): TenantQueue;
  readonly queue: DispatchQueue;
}

/** Whether a store has a queue that workers can serve. */
export function servesQueue(store: object): store is QueueOfAll {
  return "queue" in store && "dispatches" in store && "pending" in store && "scoped" in store;
}

/** A store that does not answer has failed: nobody waits for it without an end. */
export type Ask = <T>(what: string, asked: Promise<T>) => Promise<T>;
