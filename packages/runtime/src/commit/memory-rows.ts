import type { MessageId } from "@awaken/contract";
import { MESSAGE_SCHEMA_VERSION, type MessageRecord, type Page, type SequencedMessage } from "@awaken/contract/store";
import type { Row } from "./memory-row.ts";

function toRecords(row: Row | undefined, entries: readonly SequencedMessage[] = []): readonly MessageRecord[] {
  if (row === undefined) return [];
  const { id: threadId, metadata } = row.record;
  return entries.map((entry) => ({ ...entry, threadId, createdAt: metadata.createdAt, schemaVersion: MESSAGE_SCHEMA_VERSION }));
}

export function loadRows(row: Row | undefined, ids: readonly MessageId[]): readonly MessageRecord[] {
  const seqs = ids.flatMap((id) => row?.seqs.get(id) ?? []).sort((a, b) => a - b);
  return seqs.flatMap((seq) => toRecords(row, row?.log.slice(seq - 1, seq)));
}

/** In one page, as the runtime asks for it: whatever stands behind a row. */
export const listRows = (row: Row | undefined, { afterSeq = 0 }: { readonly afterSeq?: number }): Page<MessageRecord, number> => ({
  items: toRecords(row, row?.log.slice(afterSeq)),
});
