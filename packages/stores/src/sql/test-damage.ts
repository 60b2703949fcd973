import type { JsonObject } from "@awaken/contract";
import type { StoredRow } from "../conformance/world.ts";
import { codeUnitKey } from "./code-units.ts";

/** Where a record is: the columns of its key without the scope. */
export interface RowPlace {
  readonly table: string;
  readonly column?: string;
  readonly key: { readonly [column: string]: string | number };
  /** Its place in a row of several. */
  readonly index?: number;
}

export function placeOf(row: StoredRow): RowPlace {
  switch (row.type) {
    case "thread":
      return { table: "thread", key: { thread_id: row.threadId } };
    case "thread-state":
      return { table: "thread", column: "state", key: { thread_id: row.threadId } };
    case "message":
      return { table: "message", key: { thread_id: row.threadId, seq: row.seq } };
    case "pending":
      return { table: "pending", key: { thread_id: row.threadId, pending_id: row.pendingId } };
    case "run":
      return { table: "run", key: { run_id: row.runId } };
    case "dispatch":
      return { table: "dispatch", key: { dispatch_id: row.dispatchId } };
    case "event":
      return { table: "event", key: { batch_id: row.eventId.replace(/\.\d+$/, "") }, index: Number(/\d+$/.exec(row.eventId)) };
    case "ledger":
      return { table: "ledger", key: { idempotency_key: row.idempotencyKey } };
    case "stream-checkpoint":
      return { table: "stream_checkpoint", key: { run_id: row.runId, step: row.step } };
    case "wish":
      return { table: "wish", key: { wish_id: row.wishId } };
    case "profile":
      return { table: "profile", key: { owner: row.owner, key: row.key } };
    case "config":
      return { table: "config", key: { namespace: row.namespace, sort_key: codeUnitKey(row.id) } };
  }
}

/** The JSON of a row with other fields in its record. */
export function damaged(json: string, { index }: RowPlace, fields: JsonObject): string {
  if (index === undefined) return JSON.stringify({ ...JSON.parse(json), ...fields });
  const { events }: { events: JsonObject[] } = JSON.parse(json);
  return JSON.stringify({ events: events.map((event, at) => (at === index ? { ...event, ...fields } : event)) });
}
