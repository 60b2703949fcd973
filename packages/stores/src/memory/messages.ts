import { AwakenError, type Message, type MessageId, type ThreadId } from "@awaken/contract";
import { foldedUpTo, GrowingView, type SequencedMessage, small, type ThreadCommit } from "@awaken/contract/store";
import type { Copies } from "./own.ts";
import { flat, share } from "./share.ts";
import type { Change, ThreadRow } from "./tables.ts";

/** The commit that brings the first message makes the thread. */
export const madeAt = ({ record }: ThreadRow, now: number): number => record?.metadata.createdAt ?? now;

/** Where the message stands in the log; undefined when it is not there. */
export function seqOf(row: ThreadRow | undefined, id: MessageId): number | undefined {
  if (row === undefined) return undefined;
  const { messages, seqs } = row;
  const seq = seqs === undefined ? searchRising(messages, id) : seqs.get(id);
  return seq !== undefined && messages[seq - 1]?.id === id ? seq : undefined;
}

/** Where the id would stand among messages whose ids rise. */
function searchRising(messages: readonly Message[], id: MessageId): number {
  let low = 0;
  let high = messages.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    const other = messages[middle];
    if (other !== undefined && other.id < id) low = middle + 1;
    else high = middle;
  }
  return low + 1;
}

function sequenced(messages: readonly Message[], from: number): readonly SequencedMessage[] {
  const rows: SequencedMessage[] = [];
  for (const [index, message] of messages.slice(from).entries()) rows.push(share({ seq: from + index + 1, message }));
  return rows;
}

/** What a model may see of the log, in an array that is the caller's own. Costs what was added since the last time. */
export function effectiveOf(row: ThreadRow): readonly SequencedMessage[] {
  const { messages: log, view } = row;
  const last = log.at(-1);
  // The view of rows that were taken back ends with a message that is not there any more.
  const isCurrent = view !== undefined && log[view.count - 1] === view.last;
  if (isCurrent && view.growing.append(sequenced(log, view.count))) {
    view.count = log.length;
    view.last = last;
    return view.growing.messages;
  }
  const growing = new GrowingView(sequenced(log, row.folded));
  row.view = { growing, count: log.length, last };
  return growing.messages;
}

/** They were handed over: whoever wrote them has the same ones. */
function flatTexts(messages: readonly Message[]): readonly Message[] {
  for (const { content } of messages) {
    for (let index = 0; index < content.length; index++) {
      const part = content[index];
      if (part?.type === "text" || part?.type === "reasoning") flat(part.text);
    }
  }
  return messages;
}

/** Adds the delta of a commit to the log. */
export function appendMessages({ journal, now }: Change, row: ThreadRow, commit: ThreadCommit, copies: Copies | undefined): void {
  const { threadId, messageDelta } = commit;
  if (messageDelta === undefined) return;
  const { messages } = messageDelta;
  if (messages.length === 0) return;
  const added = copies === undefined ? flatTexts(messages) : copies.ownMessages(row.messages.at(-1)?.metadata, messages);
  if (row.seqs !== undefined || !areRising(row.messages.at(-1)?.id, added)) noteIds(threadId, row, added);
  const age = small(now - madeAt(row, now));
  if ((row.ages.at(-1) ?? 0) !== age) {
    journal.keepField(row, "ages", row.ages);
    row.ages = journal.extended(row.ages, [row.messages.length + 1, age]);
  }
  journal.keepField(row, "messages", row.messages);
  row.messages = journal.extended(row.messages, [...added]);
  const folded = foldedUpTo(added, row.folded);
  if (folded !== row.folded) journal.assign(row, "folded", folded);
}

/** For ids that do not rise: those that do are new, and are found without an index. */
function noteIds(threadId: ThreadId, row: ThreadRow, added: readonly Message[]): void {
  for (const { id } of added) {
    if (seqOf(row, id) === undefined) continue;
    throw new AwakenError("storage_validation", `message '${id}' is in the log of thread '${threadId}' already`, {
      details: { threadId, messageId: id },
    });
  }
  const { messages } = row;
  if (row.seqs === undefined) row.seqs = new Map(messages.map(({ id }, index) => [id, index + 1]));
  for (const [index, { id }] of added.entries()) row.seqs.set(id, messages.length + index + 1);
}

function areRising(last: MessageId | undefined, added: readonly Message[]): boolean {
  let before = last;
  for (const { id } of added) {
    if (before !== undefined && before >= id) return false;
    before = id;
  }
  return true;
}
