import { dispatchId } from "@awaken/contract";
import { type AppendedWish, type NewWish, planWish, resumeKey, type WishRecord, type WishStore, wishIdOf } from "@awaken/contract/store";
import { enqueue } from "./dispatch-rows.ts";
import { own } from "./own.ts";
import { openDispatches, openWishes } from "./reads.ts";
import { share } from "./share.ts";
import type { Access, Change } from "./tables.ts";

function append(change: Change, wish: NewWish, resume: boolean): AppendedWish {
  const { tables, journal, now } = change;
  const { threadId, runId } = wish;
  const wishId = wishIdOf(wish);
  const known = tables.wishes.get(wishId);
  const run = tables.runs.get(runId);
  const isRival = (other: WishRecord) => wish.type === "decision" && other.type === "decision" && other.ticketId === wish.ticketId;
  const record = planWish(wish, { known, rival: openWishes(tables, runId).find(isRival), run }, now);
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

/** Marks what a commit takes. */
export function takeWishes({ tables, journal, now }: Change, taken: readonly string[]): void {
  for (const id of taken) {
    const wish = tables.wishes.get(id);
    if (wish !== undefined) journal.set(tables.wishes, id, own({ ...wish, takenAt: now }));
  }
}

export function wishPort({ read, write }: Access): WishStore {
  return {
    append: (wish, { resume = false } = {}) => write((change) => append(change, wish, resume)),

    load: (id) => read((tables) => share(tables.wishes.get(id))),

    listOpen: (runId) => read((tables) => openWishes(tables, runId).map(share)),
  };
}
