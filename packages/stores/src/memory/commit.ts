import type { RunRecord } from "@awaken/contract";
import {
  type CommitResult,
  type CommitThread,
  checkPlainCommit,
  type DispatchRecord,
  type EventCursor,
  isComposed,
  isPlainCommit,
  type QueuedDispatch,
  type StoredEvent,
  type ThreadCommit,
} from "@awaken/contract/store";
import { type CommitPlan, planCommit } from "../plan/commit-plan.ts";
import type { DispatchMove } from "../plan/dispatch-plan.ts";
import type { Appended } from "./event-batch.ts";
import { appendEvents, readAll } from "./events.ts";
import { NONE } from "./journal.ts";
import { seldom } from "./late-ports.ts";
import { writeLedger } from "./ledger.ts";
import { appendMessages } from "./messages.ts";
import type { Copies } from "./own.ts";
import { placeDispatch } from "./place-dispatch.ts";
import { TableReads } from "./reads.ts";
import { writeRun } from "./runs.ts";
import { share } from "./share.ts";
import { type Access, type Change, type ThreadRow, threadRow } from "./tables.ts";

export const commitPort =
  ({ write, transaction }: Access): CommitThread =>
  (commit) => {
    if (isPlainCommit(commit) || seldom.room !== undefined) return write((change) => commitThread(change, commit));
    return transaction(async (inside) => {
      await seldom.open();
      return inside.write((change) => commitThread(change, commit));
    });
  };

interface CommittedRows {
  readonly run: RunRecord | undefined;
  readonly dispatch: DispatchRecord | undefined;
  readonly next: QueuedDispatch | undefined;
  readonly events: readonly Appended[];
}

/** Writers rarely look at the rows, so these are frozen, and events made, for those who do. */
class Committed implements CommitResult {
  readonly messageCount: number;
  readonly hasWishes: boolean;
  readonly hasPending: boolean | undefined;
  readonly #rows: CommittedRows;

  constructor(messageCount: number, { wishes, hasPending }: CommitPlan, rows: CommittedRows) {
    this.messageCount = messageCount;
    this.hasWishes = wishes.open.length > 0;
    this.hasPending = hasPending;
    this.#rows = rows;
  }

  get run(): RunRecord | undefined {
    return share(this.#rows.run);
  }

  get dispatch(): DispatchRecord | undefined {
    return share(this.#rows.dispatch);
  }

  get next(): QueuedDispatch | undefined {
    return share(this.#rows.next);
  }

  get events(): readonly StoredEvent[] {
    return readAll(this.#rows.events);
  }

  get lastCursor(): EventCursor | undefined {
    const last = this.#rows.events.at(-1);
    return last?.batch.run?.cursorAt(last.batch.runFirst + last.from + last.count - 1);
  }
}

const rare = () => seldom.here.rarePlans;

/** What a composed commit leads to is the store's own. */
function writeCommitted(change: Change, row: ThreadRow, { before, after }: DispatchMove, copies: Copies | undefined): DispatchRecord {
  if (copies !== undefined) return seldom.here.writeDispatch(change, after);
  placeDispatch(change, row, before, after);
  return after;
}

/** Writes what the plan says, in the order in which it was decided. */
function commitThread(change: Change, commit: ThreadCommit): CommitResult {
  if (isPlainCommit(commit)) checkPlainCommit(commit);
  else seldom.here.checkCommit(commit);
  const { tables, journal, now } = change;
  const { threadState, landedStep } = commit;
  const copies = isComposed(commit) ? undefined : seldom.here.copies;
  const row = threadRow(tables, commit.threadId);
  const plan = planCommit(commit, new TableReads(tables, row, commit), { now, ids: tables.ids, rare });
  const { outbound } = plan;
  appendMessages(change, row, commit, copies);
  const run = plan.run && writeRun(change, row, plan.run, copies);
  journal.keepField(row, "record", row.record);
  row.record = plan.thread;
  if (threadState !== undefined) {
    journal.keepField(row, "state", row.state);
    row.state = copies === undefined ? threadState : copies.own(threadState);
  }
  writeLedger(change, plan.ledger, copies);
  if (commit.pending !== undefined) seldom.here.writePending(change, row, plan.pending);
  const dispatch = plan.dispatch && writeCommitted(change, row, plan.dispatch, copies);
  if (plan.wishes.taken.length > 0) seldom.here.takeWishes(change, plan.wishes.taken);
  if (landedStep !== undefined && tables.streamCheckpoints.size > 0) seldom.here.dropCheckpoint(change, commit.runId, landedStep);
  if (outbound.ids.length > 0) seldom.here.writeOutbound(change, outbound);
  const events = commit.events === undefined ? NONE : appendEvents(change, commit.events, { copies, row });
  if (outbound.events.length > 0) appendEvents(change, outbound.events, { copies: seldom.here.copies, row: undefined });
  const next = plan.next && seldom.here.writeDispatch(change, plan.next);
  return new Committed(row.messages.length, plan, { run, dispatch, next, events });
}
