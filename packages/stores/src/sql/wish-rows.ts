import { ticketId } from "@awaken/contract";
import { type WishRecord, wishRecord } from "@awaken/contract/store";
import type { OpenWish } from "../plan/wish-plan.ts";
import type { Values } from "./columns.ts";
import { jsonOf, numberOf, type Row, readRecord, textOf } from "./rows.ts";

export const WISH_COLUMNS = "wish_id, thread_id, run_id, ticket_id, created_at, record";

/** Those that a reader needs. */
export const WISH_ROW = "wish_id, taken_at, record";

/** When it was taken is a column of its own, so that taking it need not read it. */
export function wishValues({ takenAt: _, ...wish }: WishRecord): Values {
  const ticketId = wish.type === "decision" ? wish.ticketId : null;
  return [wish.wishId, wish.threadId, wish.runId, ticketId, wish.createdAt, JSON.stringify(wish)];
}

export function readWish(row: Row): WishRecord {
  const own = row["taken_at"] === null ? {} : { takenAt: numberOf(row, "taken_at") };
  return readRecord(wishRecord, jsonOf(row, "record"), textOf(row, "wish_id"), own);
}

export const readOpenWish = (row: Row): OpenWish => ({
  wishId: textOf(row, "wish_id"),
  ticketId: row["ticket_id"] == null ? undefined : ticketId(textOf(row, "ticket_id")),
});
