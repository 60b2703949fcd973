import type { DispatchId, MessageId, RunId, RunRecord, ThreadId } from "@awaken/contract";
import type { DispatchRecord, LastOpen, LedgerEntry, PendingRecord, ThreadCommit, WishRecord } from "@awaken/contract/store";
import type { CommitReads, FoundThread } from "../plan/commit-plan.ts";
import type { QueueReads } from "../plan/dispatch-plan.ts";
import type { OutboundReads } from "../plan/outbound-plan.ts";
import type { PendingReads } from "../plan/pending-plan.ts";
import type { OpenWish } from "../plan/wish-plan.ts";
import { recordOf } from "./at-rest.ts";
import { countOf, idsOf } from "./ids.ts";
import { NONE } from "./journal.ts";
import { ancestorsOf } from "./lineage.ts";
import { seqOf } from "./messages.ts";
import type { Tables, ThreadRow } from "./tables.ts";

export function* openDispatches(tables: Tables, row: ThreadRow | undefined): Iterable<DispatchRecord> {
  for (const id of idsOf(row?.openIds)) {
    const dispatch = tables.dispatches.get(id);
    if (dispatch !== undefined) yield dispatch;
  }
}

export const wishesOf = (tables: Tables, runId: RunId): readonly WishRecord[] =>
  (tables.wishesByRun.get(runId) ?? []).flatMap((id) => tables.wishes.get(id) ?? []);

/** Those of the run that nobody took, the oldest first. */
export const openWishes = (tables: Tables, runId: RunId): readonly WishRecord[] =>
  tables.wishesByRun.size === 0 ? [] : wishesOf(tables, runId).filter(({ takenAt }) => takenAt === undefined);

const isNewer = (a: LastOpen, b: LastOpen): boolean =>
  a.createdAt > b.createdAt || (a.createdAt === b.createdAt && a.dispatchId > b.dispatchId);

/** What plans ask about one thread. Classes, because every commit makes one: methods cost nothing then. */
export class ThreadReads implements QueueReads, PendingReads {
  readonly tables: Tables;
  readonly row: ThreadRow | undefined;

  constructor(tables: Tables, row: ThreadRow | undefined) {
    this.tables = tables;
    this.row = row;
  }

  epoch(): number {
    return this.row?.epoch ?? 0;
  }

  isKnown(id: DispatchId): boolean {
    return this.tables.dispatches.has(id);
  }

  holder(key: string): string | undefined {
    for (const { dedupeKey, dispatchId } of openDispatches(this.tables, this.row)) if (dedupeKey === key) return dispatchId;
    return undefined;
  }

  hasClaim(): boolean {
    return this.row?.claimed !== undefined;
  }

  hasQueued(): boolean {
    for (const { status } of openDispatches(this.tables, this.row)) if (status === "queued") return true;
    return false;
  }

  newest(): LastOpen | undefined {
    let newest: LastOpen | undefined;
    for (const open of openDispatches(this.tables, this.row)) if (newest === undefined || isNewer(open, newest)) newest = open;
    return newest;
  }

  pending(): readonly PendingRecord[] {
    return this.row?.pending ?? [];
  }

  committed(ids: readonly MessageId[]): ReadonlySet<string> {
    return new Set(ids.filter((id) => seqOf(this.row, id) !== undefined));
  }
}

/** What the plan of a commit asks besides, before anything of it is written. */
export class TableReads extends ThreadReads implements CommitReads {
  readonly commit: ThreadCommit;

  constructor(tables: Tables, row: ThreadRow, commit: ThreadCommit) {
    super(tables, row);
    this.commit = commit;
  }

  thread(): FoundThread | undefined {
    const record = this.row?.record;
    if (this.row === undefined || record === undefined) return undefined;
    const { messages, runIds } = this.row;
    return { record, messageCount: messages.length, runCount: countOf(runIds) };
  }

  run(): RunRecord | undefined {
    const { runId } = this.commit;
    const latest = recordOf(this.row?.latestRun);
    return latest?.runId === runId ? latest : this.tables.runs.get(runId);
  }

  lineage(id: ThreadId): readonly ThreadId[] {
    return ancestorsOf(this.tables, this.commit.threadId, id);
  }

  dispatch(id: DispatchId): DispatchRecord | undefined {
    const claimed = this.row?.claimed;
    return claimed?.dispatchId === id ? claimed : this.tables.dispatches.get(id);
  }

  ledger(key: string): LedgerEntry | undefined {
    return this.tables.ledger.get(key);
  }

  openWishes(): readonly OpenWish[] {
    if (this.tables.wishesByRun.size === 0) return NONE;
    return openWishes(this.tables, this.commit.runId).map((wish) => ({
      wishId: wish.wishId,
      ticketId: wish.type === "decision" ? wish.ticketId : undefined,
    }));
  }

  get outbound(): OutboundReads {
    const { tables } = this;
    return { delivered: tables.outbound, runs: tables.runs, thread: (id) => new ThreadReads(tables, tables.threads.get(id)) };
  }
}
