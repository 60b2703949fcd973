import { type DispatchRecord, isDispatchOver } from "@awaken/contract/store";
import { countOf, withId, withoutId } from "./ids.ts";
import type { Change, ThreadRow } from "./tables.ts";

/** Writes one that is the store's own, and keeps the lists of its thread in step. `before` is how it stands there. */
export function placeDispatch(change: Change, row: ThreadRow, before: DispatchRecord | undefined, owned: DispatchRecord): void {
  const { tables, journal } = change;
  const { dispatchId: id, threadId, status } = owned;
  const isOver = isDispatchOver(owned);
  journal.put(tables.dispatches, id, owned, before);
  if (before === undefined || isDispatchOver(before) !== isOver) {
    journal.keepField(row, "openIds", row.openIds);
    row.openIds = isOver ? withoutId(row.openIds, id) : withId(row.openIds, id, journal);
    if (isOver) {
      journal.keepField(row, "overIds", row.overIds);
      row.overIds = withId(row.overIds, id, journal);
    }
    if (countOf(row.openIds) > 0) journal.add(tables.busyThreads, threadId);
    else journal.remove(tables.busyThreads, threadId);
  }
  if (owned.status === "claimed" || row.claimed?.dispatchId === id) {
    journal.keepField(row, "claimed", row.claimed);
    row.claimed = owned.status === "claimed" ? owned : undefined;
  }
  const isFreed = isOver && countOf(row.openIds) > 0 && row.claimed === undefined;
  if (status === "queued" || isFreed) journal.after(() => tables.hints.send({ type: "enqueued", scopeId: tables.scopeId, threadId }));
}
