import type { RunId, ThreadId, TicketId } from "../ids.ts";
import type { RunRecord } from "../run.ts";
import type { RunStatus } from "../statuses.ts";
import type { Ticket } from "../suspension.ts";
import type { Page } from "./page.ts";

export interface RunFilter {
  readonly threadId?: ThreadId;
  readonly statuses?: readonly RunStatus[];
  /** Runs that this run made. */
  readonly parentRunId?: RunId;
  /** Runs below this one, at any depth. */
  readonly rootRunId?: RunId;
}

/** Runs stand by creation, the oldest first; in one thread `ordinal` says the same. */
export interface RunPosition {
  readonly createdAt: number;
  readonly runId: RunId;
}

/** Runs, read only: a commit is the only writer. A row that does not fit its schema is `storage_corrupt` and names the run. */
export interface RunStore {
  load(id: RunId): Promise<RunRecord | undefined>;

  list(query: RunFilter & { readonly after?: RunPosition; readonly limit?: number }): Promise<Page<RunRecord, RunPosition>>;

  count(filter: RunFilter): Promise<number>;

  countByStatus(): Promise<Readonly<Record<RunStatus, number>>>;

  /** By `updatedAt`, then `ordinal`. */
  loadLatest(threadId: ThreadId): Promise<RunRecord | undefined>;

  /**
   * Runs with this ticket, open or among `decided`; waiting ones first, then the newest. A ticket id may be a call id, which vendors
   * repeat: two waiting runs are for the caller to call ambiguous. At most 10. Needs an index, not a scan.
   */
  listByTicket(id: TicketId): Promise<readonly RunRecord[]>;

  /** Open tickets of this run and of all runs below it, also of those that go on meanwhile, by run and then as the run lists them. One query over an index. */
  listOpenTickets(rootRunId: RunId): Promise<readonly Ticket[]>;
}
