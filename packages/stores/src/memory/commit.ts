import type { RunRecord } from "@awaken/contract";
import {
  type ClaimedDispatch,
  type CommitResult,
  type CommitThread,
  checkCommit,
  type DispatchRecord,
  followUp,
  isAside,
  isComposed,
  projectRun,
  type QueuedDispatch,
  type StoredEvent,
  type ThreadCommit,
  toThreadRecord,
} from "@awaken/contract/store";
import { changeDispatch, checkFence, enqueueNext } from "./dispatch-rows.ts";
import type { EventBatch } from "./event-batch.ts";
import { appendEvents, readAll } from "./events.ts";
import { writeLedger } from "./ledger.ts";
import { checkParent } from "./lineage.ts";
import { appendMessages } from "./messages.ts";
import { writeOutbound } from "./outbound.ts";
import { ownUnless, share } from "./own.ts";
import { writePending } from "./pending.ts";
import { writeRun } from "./runs.ts";
import { dropCheckpoint } from "./stream-checkpoints.ts";
import { type Access, type Change, type ThreadRow, threadRow } from "./tables.ts";
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
  readonly #rows: CommittedRows;

  constructor(messageCount: number, hasWishes: boolean, rows: CommittedRows) {
    this.messageCount = messageCount;
    this.hasWishes = hasWishes;
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
}

function commitThread(change: Change, commit: ThreadCommit): CommitResult {
  checkCommit(commit);
  const row = threadRow(change, commit.threadId);
  const held = checkFence(change, row, commit);
  appendMessages(change, row, commit);
  const before = change.tables.runs.get(commit.runId);
  const run = writeRun(change, row, commit);
  writeThread(change, row, commit, { known: before, run });
  writeState(change, row, commit);
  writeLedger(change, commit);
  writePending(change, row, commit);
  const dispatch = changeDispatch(change, row, commit, held);
  const open = takeWishes(change, commit, before);
  if (commit.landedStep !== undefined) dropCheckpoint(change, commit.runId, commit.landedStep);
  const posted = writeOutbound(change, commit);
  const events = appendEvents(change, commit.events ?? [], isComposed(commit));
  if (posted.length > 0) appendEvents(change, posted);
  const next = enqueueFollowUp(change, row, commit, { open, held });
  return new Committed(row.messages.length, open.length > 0, { run, dispatch, next, events });
}

interface Ending {
  readonly open: readonly string[];
  readonly held: ClaimedDispatch | undefined;
}

function enqueueFollowUp(change: Change, row: ThreadRow, commit: ThreadCommit, { open, held }: Ending): QueuedDispatch | undefined {
  const wanted = followUp(commit, { openWishes: open, pending: row.pending, ids: change.tables.ids });
  if (wanted === undefined) return undefined;
  const isNewRun = wanted.runId !== commit.runId;
  return enqueueNext(change, row, wanted, { isNewRun, held, isSettled: commit.dispatch !== undefined });
}

interface RunMove {
  /** Before this commit. */
  readonly known: RunRecord | undefined;
  readonly run: RunRecord | undefined;
}

function writeThread({ tables, journal, now }: Change, row: ThreadRow, commit: ThreadCommit, { known, run }: RunMove): void {
  const { threadId, fence } = commit;
  const before = row.record ?? toThreadRecord({ id: threadId }, now);
  const touched = { ...before, metadata: { ...before.metadata, updatedAt: now } };
  const standsAside = fence === undefined && row.claimedId !== undefined && isAside(commit, known);
  const record = run === undefined || standsAside ? touched : projectRun(touched, run);
  if (record.parentThreadId !== before.parentThreadId) checkParent(tables, record);
  journal.keepField(row, "record", row.record);
  row.record = record;
}

function writeState({ journal }: Change, row: ThreadRow, commit: ThreadCommit): void {
  const { threadState } = commit;
  if (threadState === undefined) return;
  journal.keepField(row, "state", row.state);
  row.state = ownUnless(isComposed(commit), threadState);
}
