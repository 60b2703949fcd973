import { AwakenError, type Message, type MessageId, type ThreadId } from "@awaken/contract";
import {
  clampLimit,
  foldedUpTo,
  GrowingView,
  MESSAGE_SCHEMA_VERSION,
  type MessageFilter,
  type MessageRecord,
  type MessageStore,
  type SequencedMessage,
  type ThreadCommit,
} from "@awaken/contract/store";
import { flat, ownWith, share } from "./own.ts";
import type { Access, Change, ThreadRow } from "./tables.ts";

export function messagePort({ read }: Access): MessageStore {
  return {
    list: (threadId, { order = "ascending", limit, ...filter }) =>
      read((tables) => {
        const size = clampLimit(limit);
        const row = tables.threads.get(threadId);
        const found: number[] = [];
        for (const seq of walk(row, filter, order === "descending")) if (found.push(seq) > size) break;
        const items = found.slice(0, size).flatMap((seq) => recordAt(threadId, row, seq) ?? []);
        const last = found.length > size ? items.at(-1) : undefined;
        return { items, ...(last === undefined ? undefined : { next: last.seq }) };
      }),

    count: (threadId, filter = {}) =>
      read((tables) => {
        let count = 0;
        for (const _ of walk(tables.threads.get(threadId), filter, false)) count++;
        return count;
      }),

    load: (threadId, ids) =>
      read((tables) => {
        const row = tables.threads.get(threadId);
        const seqs = new Set(ids.map((id) => seqOf(row, id) ?? 0));
        return [...seqs].sort((a, b) => a - b).flatMap((seq) => recordAt(threadId, row, seq) ?? []);
      }),
  };
}

/** A row of the log, made for a reader. */
function recordAt(threadId: ThreadId, row: ThreadRow | undefined, seq: number): MessageRecord | undefined {
  const message = row?.messages[seq - 1];
  const age = row?.ages[seq - 1];
  if (row === undefined || message === undefined || age === undefined) return undefined;
  return share({ schemaVersion: MESSAGE_SCHEMA_VERSION, threadId, seq, createdAt: madeAt(row, 0) + age, message });
}

/** The commit that brings the first message makes the thread. */
const madeAt = ({ record }: ThreadRow, now: number): number => record?.metadata.createdAt ?? now;

function* walk(row: ThreadRow | undefined, filter: MessageFilter, isBackwards: boolean): Iterable<number> {
  if (row === undefined) return;
  const first = Math.max(filter.afterSeq ?? 0, 0) + 1;
  const last = Math.min(filter.beforeSeq ?? Number.POSITIVE_INFINITY, row.messages.length + 1) - 1;
  for (let step = 0; step <= last - first; step++) {
    const seq = isBackwards ? last - step : first + step;
    const message = row.messages[seq - 1];
    if (message !== undefined && matches(message, filter)) yield seq;
  }
}

function matches(message: Message, { visibility = "all", runId }: MessageFilter): boolean {
  if (runId !== undefined && message.metadata?.runId !== runId) return false;
  return visibility === "all" || (visibility === "internal") === (message.visibility === "internal");
}

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

/** It was handed over: whoever wrote it has the same one. */
function flatTexts(message: Message): Message {
  for (const part of message.content) if ("text" in part) flat(part.text);
  return message;
}

/** The messages of a step mostly have the same metadata. */
function ownMessages(row: ThreadRow, messages: readonly Message[]): Message[] {
  let like = row.messages.at(-1)?.metadata;
  return messages.map((message) => {
    const owned = ownWith(message, "metadata", like);
    like = owned.metadata;
    return owned;
  });
}

/** Adds the delta of a commit to the log. */
export function appendMessages({ journal, now }: Change, row: ThreadRow, commit: ThreadCommit, isHandedOver: boolean): void {
  const { threadId, messageDelta } = commit;
  if (messageDelta === undefined) return;
  const { messages } = messageDelta;
  if (messages.length === 0) return;
  const added = isHandedOver ? messages.map(flatTexts) : ownMessages(row, messages);
  if (row.seqs !== undefined || !areRising(row.messages.at(-1)?.id, added)) noteIds(threadId, row, added);
  const age = now - madeAt(row, now);
  journal.keepField(row, "messages", row.messages);
  row.messages = journal.extended(row.messages, added);
  journal.keepField(row, "ages", row.ages);
  row.ages = journal.extended(
    row.ages,
    added.map(() => age),
  );
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
