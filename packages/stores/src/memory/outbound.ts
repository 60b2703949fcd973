import type { EventAppend, ThreadCommit } from "@awaken/contract/store";
import { planOutbound } from "../plan/outbound-plan.ts";
import { queueReads, writeDispatch } from "./dispatch-rows.ts";
import { seqOf } from "./messages.ts";
import { own } from "./own.ts";
import { type Change, threadRow } from "./tables.ts";

/** Puts on other threads what nobody put there before; gives the events that go with it. */
export function writeOutbound(change: Change, { outbound }: ThreadCommit): readonly EventAppend[] {
  if (outbound === undefined) return [];
  const { tables, journal, now } = change;
  const plan = planOutbound(
    outbound,
    {
      isDelivered: (id) => tables.outbound.has(id),
      thread: (id) => {
        const row = tables.threads.get(id);
        return {
          ...queueReads(tables, row),
          pending: () => row?.pending ?? [],
          committed: (ids) => new Set(ids.filter((message) => seqOf(row, message) !== undefined)),
        };
      },
    },
    now,
  );
  for (const id of plan.ids) journal.set(tables.outbound, id, now);
  for (const { threadId, pending, dispatches } of plan.deliveries) {
    const row = threadRow(change, threadId);
    if (pending.length > 0) journal.assign(row, "pending", [...row.pending, ...own(pending)]);
    for (const dispatch of dispatches) writeDispatch(change, dispatch);
  }
  return plan.events;
}
