import { dispatchId, type RunId, type RunRecord } from "@awaken/contract";
import {
  type AppendedWish,
  type NewWish,
  planWish,
  resumeKey,
  type ThreadCommit,
  type WishRecord,
  type WishStore,
  wishIdOf,
} from "@awaken/contract/store";
import { planTakes } from "../plan/wish-plan.ts";
import { enqueue, openDispatches } from "./dispatch-rows.ts";
import { own, share } from "./own.ts";
import type { Access, Change, Tables } from "./tables.ts";

const wishesOf = (tables: Tables, runId: RunId): readonly WishRecord[] =>
  (tables.wishesByRun.get(runId) ?? []).flatMap((id) => tables.wishes.get(id) ?? []);

/** Those of the run that nobody took, the oldest first. */
export const openWishes = (tables: Tables, runId: RunId): readonly WishRecord[] =>
  tables.wishesByRun.size === 0 ? [] : wishesOf(tables, runId).filter(({ takenAt }) => takenAt === undefined);

function append(change: Change, wish: NewWish, resume: boolean): AppendedWish {
  const { tables, journal, now } = change;
  const { threadId, runId } = wish;
  const wishId = wishIdOf(wish);
  const known = tables.wishes.get(wishId);
  const run = tables.runs.get(runId);
  const isRival = (other: WishRecord) => wish.type === "decision" && other.type === "decision" && other.ticketId === wish.ticketId;
  const record = planWish(wish, { known, rival: wishesOf(tables, runId).find(isRival), run }, now);
  if (known !== undefined) return { wish: share(known) };
  const owned = own(record);
  journal.set(tables.wishes, wishId, owned);
  journal.set(tables.wishesByRun, runId, [...(tables.wishesByRun.get(runId) ?? []), wishId]);
  const key = resumeKey(runId);
  const isHeld = [...openDispatches(tables, tables.threads.get(threadId))].some(({ dedupeKey }) => dedupeKey === key);
  if (!resume || run?.status !== "waiting" || isHeld) return { wish: share(owned) };
  const dispatch = enqueue(change, { dispatchId: dispatchId(tables.ids()), threadId, runId, dedupeKey: key });
  return { wish: share(owned), dispatch: share(dispatch) };
}

/** Marks what a commit takes; gives the ids of those that stay open. */
export function takeWishes({ tables, journal, now }: Change, commit: ThreadCommit, before: RunRecord | undefined): readonly string[] {
  const wishes = openWishes(tables, commit.runId).map((wish) => ({
    wishId: wish.wishId,
    ticketId: wish.type === "decision" ? wish.ticketId : undefined,
  }));
  const { open, taken } = planTakes(commit, wishes, before);
  for (const id of taken) {
    const wish = tables.wishes.get(id);
    if (wish !== undefined) journal.set(tables.wishes, id, own({ ...wish, takenAt: now }));
  }
  return open;
}

export function wishPort({ read, write }: Access): WishStore {
  return {
    append: (wish, { resume = false } = {}) => write((change) => append(change, wish, resume)),

    load: (id) => read((tables) => share(tables.wishes.get(id))),

    listOpen: (runId) => read((tables) => openWishes(tables, runId).map(share)),
  };
}
