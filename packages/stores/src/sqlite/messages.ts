import { AwakenError, isJsonObject, type Message, type MessageId, type ScopeId, type ThreadId } from "@awaken/contract";
import { clampLimit, type MessageFilter, type MessageRecord, type MessageStore } from "@awaken/contract/store";
import { messageKey, messageRow, readMessage } from "../sql/columns.ts";
import { Conditions, isFiltered, messageConditions } from "../sql/conditions.ts";
import { numberOf, type Row, textIn, textOf, toPage } from "../sql/rows.ts";
import type { Access } from "./access.ts";
import { decode, writeBlobs } from "./blobs.ts";
import type { Connection, Tx } from "./database.ts";
import { isConstraint } from "./errors.ts";

const COLUMNS = "seq, message_id, run_id, parts, record";

/** The JSON of a row leaves out what its columns say; in rows of older versions it is in both. */
function withoutColumns({ id: _id, metadata, ...message }: Message): object {
  if (metadata === undefined) return message;
  const { runId, ...rest } = metadata;
  return runId !== undefined && Object.keys(rest).length === 0 ? message : { ...message, metadata: rest };
}

function withColumns(row: Row, stored: unknown): unknown {
  const message = isJsonObject(stored) ? stored["message"] : undefined;
  if (!isJsonObject(stored) || !isJsonObject(message)) return stored;
  const id = textOf(row, "message_id");
  const runId = textIn(row, "run_id");
  if (runId === undefined) return { ...stored, message: { id, ...message } };
  const { metadata } = message;
  return { ...stored, message: { id, ...message, metadata: { runId, ...(isJsonObject(metadata) ? metadata : undefined) } } };
}

const readOf = (db: Connection, scopeId: ScopeId, threadId: ThreadId) => (found: Row) => {
  const row = { ...found, thread_id: threadId };
  return readMessage(row, withColumns(row, decode(db, scopeId, row, messageKey(row))));
};

const NUMBER = "(SELECT number FROM thread WHERE scope_id = ? AND thread_id = ?)";
const MAX_SEQ = 2 ** 32 - 1;

/** A place of the thread. Numbers of a program are bound as floating ones, and a place needs all of its 64 bits. */
const PLACE = `(${NUMBER} << 32) + CAST(? AS INTEGER)`;

/** Rows of one thread. */
function inThread(
  scopeId: ScopeId,
  threadId: ThreadId,
  { afterSeq = 0, beforeSeq = Number.POSITIVE_INFINITY, ...filter }: MessageFilter = {},
) {
  const first = Math.min(Math.max(Math.floor(afterSeq), 0), MAX_SEQ) + 1;
  const last = Math.max(Math.min(Math.ceil(beforeSeq) - 1, MAX_SEQ), 0);
  const where = new Conditions("?").add(`place >= ${PLACE}`, scopeId, threadId, first).add(`place <= ${PLACE}`, scopeId, threadId, last);
  return messageConditions(where, filter);
}

/** The log behind a row of it. */
export function loadAfter(db: Connection, scopeId: ScopeId, threadId: ThreadId, afterSeq: number): readonly MessageRecord[] {
  const { where, values } = inThread(scopeId, threadId, { afterSeq });
  return db.all(`SELECT ${COLUMNS} FROM message ${where} ORDER BY place`, ...values).map(readOf(db, scopeId, threadId));
}

export const DELETE_MESSAGES = `DELETE FROM message WHERE place >= (SELECT number << 32 FROM thread WHERE scope_id = ?1 AND thread_id = ?2)
  AND place <= (SELECT (number << 32) + ${MAX_SEQ} FROM thread WHERE scope_id = ?1 AND thread_id = ?2)`;

/** A place that is null would be taken for one to be found, behind the log of another thread: a text is refused. */
const INSERT_MESSAGE = `INSERT INTO message (place, message_id, run_id, is_internal, record, parts)
  VALUES (coalesce(${PLACE}, 'no number'), ?, ?, ?, ?, ?)`;

/** The thread is there already. */
export function insertMessages(tx: Tx, scopeId: ScopeId, messages: readonly MessageRecord[], blobBytes: number): void {
  for (const record of messages) {
    const { values, blobs } = messageRow(record, blobBytes, withoutColumns(record.message));
    try {
      tx.run(INSERT_MESSAGE, scopeId, ...values);
    } catch (thrown) {
      if (!isConstraint(thrown)) throw thrown;
      const { threadId, message } = record;
      throw new AwakenError("storage_validation", `message '${message.id}' is in the log of thread '${threadId}' already`, {
        details: { threadId, messageId: message.id },
        cause: thrown,
      });
    }
    writeBlobs(tx, scopeId, record.threadId, blobs);
  }
}

/** Those of the ids that are in the log. */
export function loadCommitted(db: Connection, scopeId: ScopeId, threadId: ThreadId, ids: readonly MessageId[]): ReadonlySet<string> {
  const sql = `SELECT message_id FROM message WHERE thread = ${NUMBER} AND message_id = ?`;
  return new Set(ids.flatMap((id) => db.all(sql, scopeId, threadId, id)).map((row) => textOf(row, "message_id")));
}

export function messagePort({ scopeId, session }: Access): MessageStore {
  return {
    list: (threadId, { order = "ascending", limit, ...filter }) =>
      session.read((db) => {
        const where = inThread(scopeId, threadId, filter);
        const size = clampLimit(limit);
        const tail = where.bind(`ORDER BY place ${order === "descending" ? "DESC" : "ASC"} LIMIT ?`, size + 1);
        const rows = db.all(`SELECT ${COLUMNS} FROM message ${where.where} ${tail}`, ...where.values);
        return toPage(rows.map(readOf(db, scopeId, threadId)), size, (record) => record.seq);
      }),

    count: (threadId, filter = {}) =>
      session.read((db) => {
        if (!isFiltered(filter)) {
          const row = db.get("SELECT message_count AS n FROM thread WHERE scope_id = ? AND thread_id = ?", scopeId, threadId);
          return row === undefined ? 0 : numberOf(row, "n");
        }
        const { where, values } = inThread(scopeId, threadId, filter);
        return numberOf(db.get(`SELECT count(*) AS n FROM message ${where}`, ...values) ?? {}, "n");
      }),

    load: (threadId, ids) =>
      session.snapshot((db) => {
        const sql = `SELECT ${COLUMNS} FROM message WHERE thread = ${NUMBER} AND message_id = ?`;
        const rows = [...new Set(ids)].flatMap((id) => db.all(sql, scopeId, threadId, id));
        return rows.map(readOf(db, scopeId, threadId)).sort((a, b) => a.seq - b.seq);
      }),
  };
}
