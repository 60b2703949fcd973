import type { OutboundPlan } from "../plan/outbound-plan.ts";
import { writeDispatch } from "./dispatch-rows.ts";
import { own } from "./own.ts";
import { type Change, threadRow } from "./tables.ts";

/** Puts on other threads what nobody put there before. */
export function writeOutbound(change: Change, { ids, deliveries }: OutboundPlan): void {
  const { tables, journal, now } = change;
  for (const id of ids) journal.set(tables.outbound, id, now);
  for (const { threadId, pending, dispatches } of deliveries) {
    const row = threadRow(tables, threadId);
    if (pending.length > 0) journal.assign(row, "pending", [...row.pending, ...own(pending)]);
    for (const dispatch of dispatches) writeDispatch(change, dispatch);
  }
}
