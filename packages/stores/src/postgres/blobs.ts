import { isJsonObject, type ScopeId, type ThreadId } from "@awaken/contract";
import { type Blob, decodeRecord } from "../sql/blobs.ts";
import { jsonOf, type Row } from "../sql/rows.ts";
import { insertRows } from "./insert-rows.ts";
import { lockBlobsForUse } from "./locks.ts";
import type { Statement } from "./statement.ts";

/** Large parts live as long as one of the threads that use them. */
export function writeBlobs(scopeId: ScopeId, threadId: ThreadId, blobs: readonly Blob[]): readonly Statement[] {
  if (blobs.length === 0) return [];
  const unique = [...new Map(blobs.map((blob) => [blob.hash, blob])).values()].sort((a, b) => (a.hash < b.hash ? -1 : 1));
  const onConflict = "ON CONFLICT DO NOTHING";
  const statements = [
    lockBlobsForUse(scopeId),
    ...insertRows(
      scopeId,
      { table: "blob", columns: "hash, body", onConflict },
      unique.map(({ hash, body }) => [hash, body]),
    ),
    ...insertRows(
      scopeId,
      { table: "blob_use", columns: "thread_id, hash", onConflict },
      unique.map(({ hash }) => [threadId, hash]),
    ),
  ];
  return statements.map((statement) => ({ ...statement, isAlone: true }));
}

/** A column with the large parts of a row by their hashes, read in the same moment as the row. Few have any, so it is a function: it is made ready when it is called. */
export const bodiesOf = (table: string): string =>
  `CASE WHEN ${table}.parts IS NOT NULL THEN ~bodies(${table}.scope_id, ${table}.parts) END AS bodies`;

/** The JSON of a row with its large parts put back. */
export function decode(row: Row, key: string): unknown {
  const bodies = jsonOf(row, "bodies");
  return decodeRecord(row, key, (hash) => {
    const body = isJsonObject(bodies) ? bodies[hash] : undefined;
    return typeof body === "string" ? body : undefined;
  });
}
