import {
  AwakenError,
  clampLimit,
  foldedUpTo,
  GrowingView,
  MESSAGE_SCHEMA_VERSION,
  type MessageFilter,
  type MessageRecord,
  type MessageStore,
  type SequencedMessage,
  type ThreadCommit,
} from "@awaken/contract";
import { own, share } from "./own.ts";
import type { Access, Change, ThreadRow } from "./tables.ts";

export function messagePort({ read }: Access): MessageStore {
  return {
    list: (threadId, { order = "ascending", limit, ...filter }) =>
      read((tables) => {
        const size = clampLimit(limit);
        const found: MessageRecord[] = [];
        for (const record of walk(tables.threads.get(threadId), filter, order === "descending")) {
          if (found.push(record) > size) break;
        }
        const items = found.slice(0, size);
        const last = found.length > size ? items.at(-1) : undefined;
        return { items: items.map(share), ...(last === undefined ? undefined : { next: last.seq }) };
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
        const seqs = new Set(ids.map((id) => row?.seqs.get(id) ?? 0));
        return [...seqs].sort((a, b) => a - b).flatMap((seq) => share(row?.messages[seq - 1]) ?? []);
      }),
  };
}

function* walk(row: ThreadRow | undefined, filter: MessageFilter, isBackwards: boolean): Iterable<MessageRecord> {
  if (row === undefined) return;
  const first = Math.max(filter.afterSeq ?? 0, 0) + 1;
  const last = Math.min(filter.beforeSeq ?? Number.POSITIVE_INFINITY, row.messages.length + 1) - 1;
  for (let step = 0; step <= last - first; step++) {
    const record = row.messages[(isBackwards ? last - step : first + step) - 1];
    if (record !== undefined && matches(record, filter)) yield record;
  }
}

function matches({ message }: MessageRecord, { visibility = "all", runId }: MessageFilter): boolean {
  if (runId !== undefined && message.metadata?.runId !== runId) return false;
  return visibility === "all" || (visibility === "internal") === (message.visibility === "internal");
}

/** What a model may see of the log, in an array that is the caller's own. Costs what was added since the last time. */
export function effectiveOf(row: ThreadRow): readonly SequencedMessage[] {
  const { messages: log, view } = row;
  if (view?.growing.append(log.slice(view.count).map(share)) === true) {
    view.count = log.length;
    return view.growing.messages;
  }
  const growing = new GrowingView(log.slice(row.folded).map(share));
  row.view = { growing, count: log.length };
  return growing.messages;
}

/** Adds the delta of a commit behind the rows that its writer saw. */
export function appendMessages({ journal, now }: Change, row: ThreadRow, { threadId, messageDelta }: ThreadCommit): void {
  if (messageDelta === undefined) return;
  const { messages: log, seqs, folded } = row;
  const { messages, expectedMessageCount: expected } = messageDelta;
  const actual = log.length;
  if (expected !== actual) {
    throw new AwakenError("message_version_conflict", `thread '${threadId}' has ${actual} messages, not ${expected}`, {
      details: { threadId, expected, actual },
    });
  }
  journal.undo(() => {
    for (const { message } of log.splice(actual)) seqs.delete(message.id);
    row.folded = folded;
    if (row.view !== undefined && row.view.count > actual) row.view = undefined;
  });
  for (const message of messages) {
    if (seqs.has(message.id)) {
      throw new AwakenError("storage_validation", `message '${message.id}' is in the log of thread '${threadId}' already`, {
        details: { threadId, messageId: message.id },
      });
    }
    const seq = log.length + 1;
    log.push({ schemaVersion: MESSAGE_SCHEMA_VERSION, threadId, seq, createdAt: now, message: own(message) });
    seqs.set(message.id, seq);
  }
  row.folded = Math.max(folded, foldedUpTo(log.slice(actual)));
}
