import {
  type CommitResult,
  type CommitThread,
  checkCommit,
  projectRun,
  type RunRecord,
  type ThreadCommit,
  toThreadRecord,
} from "@awaken/contract";
import { changeDispatch, checkFence } from "./dispatch-rows.ts";
import { appendEvents } from "./events.ts";
import { writeLedger } from "./ledger.ts";
import { checkParent } from "./lineage.ts";
import { appendMessages } from "./messages.ts";
import { own } from "./own.ts";
import { writePending } from "./pending.ts";
import { writeRun } from "./runs.ts";
import { dropCheckpoint } from "./stream-checkpoints.ts";
import { type Access, type Change, type ThreadRow, threadRow } from "./tables.ts";

export const commitPort =
  ({ write }: Access): CommitThread =>
  (commit) =>
    write((change) => commitThread(change, commit));

function commitThread(change: Change, commit: ThreadCommit): CommitResult {
  checkCommit(commit);
  const row = threadRow(change, commit.threadId);
  const held = checkFence(change, commit);
  appendMessages(change, row, commit);
  const run = writeRun(change, row, commit);
  writeThread(change, row, commit, run);
  if (commit.threadState !== undefined) change.journal.assign(row, "state", own(commit.threadState));
  writeLedger(change, commit);
  writePending(change, row, commit);
  const dispatch = changeDispatch(change, row, commit, held);
  if (commit.landedStep !== undefined) dropCheckpoint(change, commit.runId, commit.landedStep);
  const events = appendEvents(change, commit.events ?? []);
  // What is given back shares nothing with what is stored.
  return {
    messageCount: row.messages.length,
    events,
    ...(run === undefined ? undefined : { run }),
    ...(dispatch === undefined ? undefined : { dispatch: own(dispatch) }),
  };
}

function writeThread({ tables, journal, now }: Change, row: ThreadRow, { threadId }: ThreadCommit, run: RunRecord | undefined): void {
  const before = row.record ?? toThreadRecord({ id: threadId }, now);
  const touched = { ...before, metadata: { ...before.metadata, updatedAt: now } };
  const record = run === undefined ? touched : projectRun(touched, run);
  if (record.parentThreadId !== before.parentThreadId) checkParent(tables, record);
  journal.assign(row, "record", record);
}
