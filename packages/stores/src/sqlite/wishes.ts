import { dispatchId, type RunId, type ScopeId } from "@awaken/contract";
import { type AppendedWish, type NewWish, planWish, resumeKey, type WishRecord, type WishStore, wishIdOf } from "@awaken/contract/store";
import { planEnqueue } from "../plan/enqueue-plan.ts";
import type { OpenWish } from "../plan/wish-plan.ts";
import { readOpenWish, readWish, WISH_COLUMNS, WISH_ROW, wishValues } from "../sql/wish-rows.ts";
import type { Access } from "./access.ts";
import type { Connection, Tx } from "./database.ts";
import { queueReads, writeDispatch } from "./dispatch-rows.ts";
import { loadRun } from "./runs.ts";

const OPEN = "WHERE scope_id = ? AND run_id = ? AND taken_at IS NULL ORDER BY rowid";

export const loadOpenWishes = (db: Connection, scopeId: ScopeId, runId: RunId): readonly OpenWish[] =>
  db.all(`SELECT wish_id, ticket_id FROM wish ${OPEN}`, scopeId, runId).map(readOpenWish);

/** The whole of them. */
export const listOpenWishes = (db: Connection, scopeId: ScopeId, runId: RunId): readonly WishRecord[] =>
  db.all(`SELECT ${WISH_ROW} FROM wish ${OPEN}`, scopeId, runId).map(readWish);

export function takeWishes(tx: Tx, scopeId: ScopeId, ids: readonly string[], now: number): void {
  for (const id of ids) tx.run("UPDATE wish SET taken_at = ? WHERE scope_id = ? AND wish_id = ?", now, scopeId, id);
}

function loadWish(db: Connection, scopeId: ScopeId, id: string): WishRecord | undefined {
  const row = db.get(`SELECT ${WISH_ROW} FROM wish WHERE scope_id = ? AND wish_id = ?`, scopeId, id);
  return row && readWish(row);
}

function loadRival(db: Connection, scopeId: ScopeId, wish: NewWish): WishRecord | undefined {
  if (wish.type === "cancel") return undefined;
  const row = db.get(
    `SELECT ${WISH_ROW} FROM wish WHERE scope_id = ? AND run_id = ? AND ticket_id = ? AND taken_at IS NULL`,
    scopeId,
    wish.runId,
    wish.ticketId,
  );
  return row && readWish(row);
}

function append(tx: Tx, access: Access, wish: NewWish, resume: boolean): AppendedWish {
  const { scopeId, env } = access;
  const now = env.clock();
  const known = loadWish(tx, scopeId, wishIdOf(wish));
  const run = loadRun(tx, scopeId, wish.runId);
  const record = planWish(wish, { known, rival: loadRival(tx, scopeId, wish), run }, now);
  if (known !== undefined) return { wish: known };
  tx.run(`INSERT INTO wish (scope_id, ${WISH_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?)`, scopeId, ...wishValues(record));
  const { threadId, runId } = wish;
  const reads = queueReads(tx, scopeId, threadId);
  if (!resume || run?.status !== "waiting" || reads.holder(resumeKey(runId)) !== undefined) return { wish: record };
  const next = { dispatchId: dispatchId(env.ids()), threadId, runId, dedupeKey: resumeKey(runId) };
  return { wish: record, dispatch: writeDispatch(tx, access, planEnqueue(next, reads, now)) };
}

export function wishPort(access: Access): WishStore {
  const { scopeId, session } = access;
  return {
    append: (wish, { resume = false } = {}) => session.write((tx) => append(tx, access, wish, resume)),

    load: (id) => session.read((db) => loadWish(db, scopeId, id)),

    listOpen: (runId) => session.read((db) => listOpenWishes(db, scopeId, runId)),
  };
}
