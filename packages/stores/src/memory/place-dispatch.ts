import type { DispatchId } from "@awaken/contract";
import { type DispatchRecord, isDispatchOver } from "@awaken/contract/store";
import { type Change, NONE, type ThreadRow } from "./tables.ts";

/** Writes one that is the store's own, and keeps the lists of its thread in step. `before` is how it stands there. */
export function placeDispatch(change: Change, row: ThreadRow, before: DispatchRecord | undefined, owned: DispatchRecord): void {
  const { tables, journal } = change;
  const { dispatchId: id, threadId, status } = owned;
  const isOver = isDispatchOver(owned);
  journal.put(tables.dispatches, id, owned, before);
  if (before === undefined || isDispatchOver(before) !== isOver) {
    journal.keepField(row, "openIds", row.openIds);
    row.openIds = isOver ? without(row.openIds, id) : journal.extended(row.openIds, [id]);
    if (isOver) {
      journal.keepField(row, "overIds", row.overIds);
      row.overIds = journal.extended(row.overIds, [id]);
    }
    if (row.openIds.length > 0) journal.add(tables.busyThreads, threadId);
    else journal.remove(tables.busyThreads, threadId);
  }
  if (owned.status === "claimed" || row.claimed?.dispatchId === id) {
    journal.keepField(row, "claimed", row.claimed);
    row.claimed = owned.status === "claimed" ? owned : undefined;
  }
  const isFreed = isOver && row.openIds.length > 0 && row.claimed === undefined;
  if (status === "queued" || isFreed) journal.after(() => tables.hints.send({ type: "enqueued", scopeId: tables.scopeId, threadId }));
}

/** Mostly it is the only one. */
const without = (ids: DispatchId[], id: DispatchId): DispatchId[] =>
  ids.length === 1 && ids[0] === id ? NONE : ids.filter((other) => other !== id);
