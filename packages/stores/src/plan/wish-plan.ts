import { AwakenError, type RunRecord, type TicketId } from "@awaken/contract";
import type { ThreadCommit } from "@awaken/contract/store";

/** A wish that nobody took. */
export interface OpenWish {
  readonly wishId: string;
  /** Undefined for a cancel. */
  readonly ticketId: TicketId | undefined;
}

export interface WishPlan {
  /** A run that ends takes all: nobody can follow them any more. */
  readonly taken: readonly string[];
  /** Those that stay open. */
  readonly open: readonly string[];
}

const NOTHING: readonly never[] = Object.freeze([]);
const NO_WISHES: WishPlan = Object.freeze({ taken: NOTHING, open: NOTHING });

/**
 * `already_consumed` when one that is taken is not open; `ticket_not_open` when the commit decides a ticket about which somebody was told
 * already that his decision is on record.
 */
export function planTakes(commit: ThreadCommit, open: readonly OpenWish[], before: RunRecord | undefined): WishPlan {
  const { takes = NOTHING, run } = commit;
  if (open.length === 0 && takes.length === 0) return NO_WISHES;
  const missing = takes.find((id) => !open.some(({ wishId }) => wishId === id));
  if (missing !== undefined) {
    throw new AwakenError("already_consumed", `wish '${missing}' is not open: it was taken before, or is of another run`, {
      details: { wishId: missing },
    });
  }
  for (const wish of open) checkRival(commit, wish, before);
  const ids = open.map(({ wishId }) => wishId);
  if (run?.status === "done") return { taken: ids, open: NOTHING };
  return { taken: takes, open: ids.filter((id) => !takes.includes(id)) };
}

/** What was decided before is left alone, whatever wishes there are about it. */
function checkRival({ run, runId }: ThreadCommit, { wishId, ticketId }: OpenWish, before: RunRecord | undefined): void {
  const decided = ticketId === undefined ? undefined : run?.decided.find((entry) => entry.ticketId === ticketId);
  if (decided === undefined || decided.decisionId === wishId) return;
  if (before?.decided.some((entry) => entry.ticketId === ticketId) === true) return;
  throw new AwakenError("ticket_not_open", `ticket '${decided.ticketId}' is not open: decision '${wishId}' was made about it`, {
    details: { ticketId: decided.ticketId, runId, decisionId: wishId },
  });
}
