import type { MessageId, RunId, ThreadId } from "../ids.ts";
import type { Order, Page } from "./page.ts";
import type { MessageRecord } from "./thread-projection.ts";

export interface MessageFilter {
  /** `external` is what clients may see. */
  readonly visibility?: "external" | "internal" | "all";
  /** Messages whose metadata names this run. */
  readonly runId?: RunId;
  /** Both ends are exclusive. */
  readonly afterSeq?: number;
  readonly beforeSeq?: number;
}

/**
 * The raw log, read only: a commit is the only writer, and what it wrote never changes. An unknown thread reads as an empty one.
 * A row that does not fit its schema is `storage_corrupt` and names thread and seq.
 */
export interface MessageStore {
  /** By seq. `next` is the last seq of the page: give it as `afterSeq` (ascending) or `beforeSeq` (descending). */
  list(
    threadId: ThreadId,
    query: MessageFilter & { readonly order?: Order; readonly limit?: number },
  ): Promise<Page<MessageRecord, number>>;

  count(threadId: ThreadId, filter?: MessageFilter): Promise<number>;

  /** Those that exist, by seq. Costs the number of ids, not of rows. */
  load(threadId: ThreadId, ids: readonly MessageId[]): Promise<readonly MessageRecord[]>;
}
