import type { RunRecord } from "@awaken/contract";
import {
  type CommitResult,
  type CommitThread,
  checkCommit,
  type DispatchRecord,
  type EventCursor,
  isComposed,
  type QueuedDispatch,
  type StoredEvent,
  type ThreadCommit,
} from "@awaken/contract/store";
import { type CommitPlan, planCommit } from "../plan/commit-plan.ts";
import { writeCommitted, writeDispatch } from "./dispatch-rows.ts";
import type { EventBatch } from "./event-batch.ts";
import { appendEvents, readAll } from "./events.ts";
import { writeLedger } from "./ledger.ts";
import { appendMessages } from "./messages.ts";
import { writeOutbound } from "./outbound.ts";
import { ownUnless, share } from "./own.ts";
import { writePending } from "./pending.ts";
import { TableReads } from "./reads.ts";
import { writeRun } from "./runs.ts";
import { dropCheckpoint } from "./stream-checkpoints.ts";
import { type Access, type Change, threadRow } from "./tables.ts";
import { takeWishes } from "./wishes.ts";

export const commitPort =
  ({ write }: Access): CommitThread =>
  (commit) =>
    write((change) => commitThread(change, commit));

interface CommittedRows {
  readonly run: RunRecord | undefined;
  readonly dispatch: DispatchRecord | undefined;
  readonly next: QueuedDispatch | undefined;
  readonly events: readonly EventBatch[];
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
    return this.#rows.events.at(-1)?.lastCursor;
  }
}

/** Writes what the plan says, in the order in which it was decided. */
function commitThread(change: Change, commit: ThreadCommit): CommitResult {
  checkCommit(commit);
  const { tables, journal, now } = change;
  const { threadState, landedStep } = commit;
  const isHandedOver = isComposed(commit);
  const row = threadRow(tables, commit.threadId);
  const plan = planCommit(commit, new TableReads(tables, row, commit), { now, ids: tables.ids });
  const { outbound } = plan;
  appendMessages(change, row, commit, isHandedOver);
  const run = plan.run && writeRun(change, row, plan.run, isHandedOver);
  journal.keepField(row, "record", row.record);
  row.record = plan.thread;
  if (threadState !== undefined) {
    journal.keepField(row, "state", row.state);
    row.state = ownUnless(isHandedOver, threadState);
  }
  writeLedger(change, plan.ledger, isHandedOver);
  writePending(change, row, plan.pending);
  const dispatch = plan.dispatch && writeCommitted(change, row, plan.dispatch.after, isHandedOver);
  takeWishes(change, plan.wishes.taken);
  if (landedStep !== undefined) dropCheckpoint(change, commit.runId, landedStep);
  writeOutbound(change, outbound);
  const events = appendEvents(change, commit.events ?? [], isHandedOver);
  if (outbound.events.length > 0) appendEvents(change, outbound.events);
  const next = plan.next && writeDispatch(change, plan.next);
  return new Committed(row.messages.length, plan, { run, dispatch, next, events });
}
