import { dispatchId, type RunId, type ScopeId, type ThreadId } from "@awaken/contract";
import { type AppendedWish, type NewWish, planWish, resumeKey, type WishRecord, type WishStore, wishIdOf } from "@awaken/contract/store";
import { planEnqueue } from "../plan/enqueue-plan.ts";
import { readRun } from "../sql/run-row.ts";
import { readWish, WISH_COLUMNS, WISH_ROW, wishValues } from "../sql/wish-rows.ts";
import type { Access } from "./access.ts";
import type { Finish, Tx } from "./attempt.ts";
import { insertDispatch, newcomer, readQueueState, selectQueueState, tellDispatches } from "./dispatch-rows.ts";
import { insertRows } from "./insert-rows.ts";
import { lockThread } from "./locks.ts";
import { selectRun } from "./runs.ts";
import { type Statement, sql } from "./statement.ts";

const selectOpenWishes = (scopeId: ScopeId, runId: RunId): Statement =>
  sql(`SELECT ${WISH_ROW} FROM ~wish WHERE scope_id = $1 AND run_id = $2 AND taken_at IS NULL ORDER BY place`, scopeId, runId);

export const takeWishes = (scopeId: ScopeId, ids: readonly string[], now: number): Statement =>
  sql("UPDATE ~wish SET taken_at = $3 WHERE scope_id = $1 AND wish_id = ANY ($2::text[])", scopeId, ids, now);

const selectWish = (scopeId: ScopeId, id: string): Statement =>
  sql(`SELECT ${WISH_ROW} FROM ~wish WHERE scope_id = $1 AND wish_id = $2`, scopeId, id);

const selectRival = (scopeId: ScopeId, wish: NewWish): Statement =>
  sql(
    `SELECT ${WISH_ROW} FROM ~wish WHERE scope_id = $1 AND run_id = $2 AND ticket_id = $3 AND taken_at IS NULL`,
    ...[scopeId, wish.runId, wish.type === "decision" ? wish.ticketId : null],
  );

/**
 * A transaction that saw the thread before waits for its lock and still sees what it saw: when one of the two decides a ticket, and the
 * other says so in a wish, one of them has to find out.
 */
const touchThread = (scopeId: ScopeId, id: ThreadId): Statement =>
  sql("UPDATE ~thread SET thread_id = thread_id WHERE scope_id = $1 AND thread_id = $2", scopeId, id);

async function append(tx: Tx, access: Access, wish: NewWish, resume: boolean): Promise<Finish<AppendedWish>> {
  const { scopeId, env } = access;
  const { threadId, runId } = wish;
  const now = env.clock();
  const next = { dispatchId: dispatchId(env.ids()), threadId, runId, dedupeKey: resumeKey(runId) };
  const [, [knownRow] = [], [rivalRow] = [], [runRow] = [], state = []] = await tx.read(
    lockThread(scopeId, threadId),
    selectWish(scopeId, wishIdOf(wish)),
    selectRival(scopeId, wish),
    selectRun(scopeId, runId),
    selectQueueState(scopeId, threadId, newcomer(next)),
  );
  const known: WishRecord | undefined = knownRow && readWish(knownRow);
  const run = runRow && readRun(runRow);
  const record = planWish(wish, { known, rival: rivalRow && readWish(rivalRow), run }, now);
  if (known !== undefined) return { writes: [], result: { wish: known } };
  const insert = [touchThread(scopeId, threadId), ...insertRows(scopeId, { table: "wish", columns: WISH_COLUMNS }, [wishValues(record)])];
  const queue = readQueueState(state);
  if (!resume || run?.status !== "waiting" || queue.holder(next.dedupeKey) !== undefined) {
    return { writes: insert, result: { wish: record } };
  }
  const dispatch = planEnqueue(next, queue, now);
  return {
    writes: [...insert, ...insertDispatch(scopeId, dispatch)],
    result: { wish: record, dispatch },
    tell: tellDispatches(access, [dispatch]),
  };
}

export function wishPort(access: Access): WishStore {
  const { scopeId, session } = access;
  return {
    append: (wish, { resume = false } = {}) => session.write((tx) => append(tx, access, wish, resume)),

    load: async (id) => (await session.read(selectWish(scopeId, id))).map(readWish)[0],

    listOpen: async (runId) => (await session.read(selectOpenWishes(scopeId, runId))).map(readWish),
  };
}
