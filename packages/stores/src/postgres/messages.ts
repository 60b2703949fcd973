import type { MessageId, ScopeId, ThreadId } from "@awaken/contract";
import { clampLimit, type MessageRecord, type MessageStore } from "@awaken/contract/store";
import { MESSAGE_COLUMNS, messageKey, messageRow, readMessage } from "../sql/columns.ts";
import { Conditions, isFiltered, messageConditions } from "../sql/conditions.ts";
import { numberOf, type Row, textOf, toPage } from "../sql/rows.ts";
import type { Access } from "./access.ts";
import { bodiesOf, decode, writeBlobs } from "./blobs.ts";
import { insertRows, type Target } from "./insert-rows.ts";
import { type Statement, sql } from "./statement.ts";

const MESSAGES: Target = { table: "message", columns: MESSAGE_COLUMNS, listed: new Map() };

const COLUMNS = `thread_id, seq, record, parts, ${bodiesOf("message")}`;

export const readMessageRow = (row: Row): MessageRecord => readMessage(row, decode(row, messageKey(row)));

const inThread = (scopeId: ScopeId, threadId: ThreadId): Conditions =>
  new Conditions("$").add("scope_id = ?", scopeId).add("thread_id = ?", threadId);

export function insertMessages(scopeId: ScopeId, messages: readonly MessageRecord[], blobBytes: number): readonly Statement[] {
  const [first] = messages;
  if (first === undefined) return [];
  const rows = messages.map((record) => messageRow(record, blobBytes));
  const blobs = rows.flatMap((row) => row.blobs);
  return [
    ...insertRows(
      scopeId,
      MESSAGES,
      rows.map((row) => row.values),
    ),
    ...writeBlobs(scopeId, first.threadId, blobs),
  ];
}

/** Those of the ids that are in the log. */
export const selectCommitted = (scopeId: ScopeId, threadId: ThreadId, ids: readonly MessageId[]): Statement =>
  sql("SELECT message_id FROM ~message WHERE scope_id = $1 AND thread_id = $2 AND message_id = ANY ($3::text[])", scopeId, threadId, ids);

export const readCommitted = (rows: readonly Row[]): ReadonlySet<string> => new Set(rows.map((row) => textOf(row, "message_id")));

export function messagePort({ scopeId, session }: Access): MessageStore {
  return {
    async list(threadId, { order = "ascending", limit, ...filter }) {
      const where = messageConditions(inThread(scopeId, threadId), filter);
      const size = clampLimit(limit);
      const tail = where.bind(`ORDER BY seq ${order === "descending" ? "DESC" : "ASC"} LIMIT ?`, size + 1);
      const rows = await session.read(sql(`SELECT ${COLUMNS} FROM ~message ${where.where} ${tail}`, ...where.values));
      return toPage(rows.map(readMessageRow), size, (record) => record.seq);
    },

    async count(threadId, filter = {}) {
      const { where, values } = messageConditions(inThread(scopeId, threadId), filter);
      const counted = isFiltered(filter)
        ? `SELECT count(*) AS n FROM ~message ${where}`
        : `SELECT message_count AS n FROM ~thread ${where}`;
      const [row] = await session.read(sql(counted, ...values));
      return row === undefined ? 0 : numberOf(row, "n");
    },

    async load(threadId, ids) {
      const text = `SELECT ${COLUMNS} FROM ~message WHERE scope_id = $1 AND thread_id = $2 AND message_id = ANY ($3::text[]) ORDER BY seq`;
      return (await session.read(sql(text, scopeId, threadId, ids))).map(readMessageRow);
    },
  };
}
