import { AwakenError } from "../error.ts";
import type { RunId, ThreadId, TicketId } from "../ids.ts";
import { sameJson } from "../json.ts";
import type { RunRecord } from "../run.ts";
import * as s from "../schema/all.ts";
import { decisionSchema, runIdSchema, threadIdSchema, ticketIdSchema } from "../stored.ts";
import type { Decision } from "../suspension.ts";
import type { QueuedDispatch } from "./dispatch-record.ts";
import { defineRecord } from "./record.ts";
import { nonBlankSchema, timeSchema } from "./row-schemas.ts";

export const WISH_SCHEMA_VERSION = 1;

interface WishTarget {
  readonly threadId: ThreadId;
  readonly runId: RunId;
}

/** Its id is that of the decision. */
interface DecisionWish {
  readonly type: "decision";
  /** Or the id of a call that does not wait yet: the owner of the run keeps it open to the end of the step. */
  readonly ticketId: TicketId;
  readonly decision: Decision;
  /** Those with the same one are followed together or not at all; absent for one that stands alone. */
  readonly batchId?: string;
}

/** What somebody wants of a run, whoever executes it: a decision about one of its tickets, or its end. */
export type NewWish =
  | (WishTarget & DecisionWish)
  | (WishTarget & { readonly type: "cancel"; readonly wishId: string; readonly by?: string; readonly reason?: string });

interface WishBody {
  readonly schemaVersion: typeof WISH_SCHEMA_VERSION;
  readonly wishId: string;
  readonly createdAt: number;
  /** When a commit of the run took it, or ended the run; absent before. */
  readonly takenAt?: number;
}

export type WishRecord = NewWish & WishBody;

const body = {
  schemaVersion: s.literal(WISH_SCHEMA_VERSION),
  wishId: nonBlankSchema,
  threadId: threadIdSchema,
  runId: runIdSchema,
  createdAt: timeSchema,
  takenAt: s.exactOptional(timeSchema),
};

export const wishRecord = defineRecord<WishRecord>({
  name: "wish",
  version: WISH_SCHEMA_VERSION,
  schema: s
    .taggedUnion("type", [
      s.strictObject({
        ...body,
        type: s.literal("decision"),
        ticketId: ticketIdSchema,
        decision: decisionSchema,
        batchId: s.exactOptional(nonBlankSchema),
      }),
      s.strictObject({ ...body, type: s.literal("cancel"), by: s.exactOptional(s.string()), reason: s.exactOptional(s.string()) }),
    ])
    .check(s.refine((wish) => wish.type === "cancel" || wish.wishId === wish.decision.id, "the id of a decision is the id of its row")),
});

export const wishIdOf = (wish: NewWish): string => (wish.type === "decision" ? wish.decision.id : wish.wishId);

/** The dispatch of a parked run that has something to do again. At most one is open. */
export const resumeKey = (runId: RunId): string => `resume:${runId}`;

/** What a store knows when a wish is appended. */
export interface WishReads {
  /** The row with this id. */
  readonly known: WishRecord | undefined;
  /** The row of another decision about the same ticket of the same run that nobody took: one that was refused is none. */
  readonly rival: WishRecord | undefined;
  readonly run: RunRecord | undefined;
}

/**
 * The row of a new wish, or the known one when it says the same; the time of a decision does not count. `idempotency_conflict` when the
 * known one says something else; `run_not_found`; `illegal_transition` when the run is done; `ticket_not_open` when its ticket is decided,
 * by another decision that was taken or waits, or closed; `ticket_not_found` when the run waits for other tickets.
 */
export function planWish(wish: NewWish, { known, rival, run }: WishReads, now: number): WishRecord {
  const { threadId, runId } = wish;
  const wishId = wishIdOf(wish);
  if (known !== undefined) return sameWish(known, wish);
  const details = { runId, wishId };
  if (run === undefined || run.threadId !== threadId) {
    throw new AwakenError("run_not_found", `thread '${threadId}' has no run '${runId}'`, { details });
  }
  if (wish.type === "decision") checkTicket(wish.ticketId, run, rival);
  if (run.status === "done") throw new AwakenError("illegal_transition", `run '${runId}' is done`, { details });
  return wishRecord.check({ ...wish, schemaVersion: WISH_SCHEMA_VERSION, wishId, createdAt: now });
}

function basisOf(wish: NewWish) {
  const { threadId, runId, type } = wish;
  if (wish.type === "cancel") return { threadId, runId, type, by: wish.by, reason: wish.reason };
  return { threadId, runId, type, ticketId: wish.ticketId, decision: { ...wish.decision, decidedAt: 0 } };
}

function sameWish(known: WishRecord, wish: NewWish): WishRecord {
  if (sameJson(basisOf(known), basisOf(wish))) return known;
  throw new AwakenError("idempotency_conflict", `wish '${known.wishId}' was made before and said something else`, {
    details: { wishId: known.wishId, runId: known.runId },
  });
}

function checkTicket(ticketId: TicketId, run: RunRecord, rival: WishRecord | undefined): void {
  const before = rival?.wishId ?? run.decided.find((decided) => decided.ticketId === ticketId)?.decisionId;
  const isClosed = run.closed?.some((closed) => closed.ticketId === ticketId) === true;
  if (before !== undefined || isClosed || run.status === "done") {
    const isOver = isClosed ? "its call was given up" : `run '${run.runId}' is done`;
    const why = before === undefined ? isOver : `decision '${before}' was made about it`;
    throw new AwakenError("ticket_not_open", `ticket '${ticketId}' is not open: ${why}`, {
      details: { ticketId, runId: run.runId, ...(before === undefined ? undefined : { decisionId: before }) },
    });
  }
  if (run.status !== "waiting" || run.waiting.tickets.some((ticket) => ticket.id === ticketId)) return;
  throw new AwakenError("ticket_not_found", `run '${run.runId}' does not wait for ticket '${ticketId}'`, {
    details: { ticketId, runId: run.runId },
  });
}

export interface AppendedWish {
  readonly wish: WishRecord;
  /** The one that was enqueued for it. */
  readonly dispatch?: QueuedDispatch;
}

/**
 * Decisions and cancel wishes, appended without a fence by any process. The owner of the run takes them in a commit (`takes`), and every
 * commit and every renewal of a lease says whether there are some that nobody took.
 */
export interface WishStore {
  /**
   * By the rules of `planWish`. With `resume`, a run that waits gets a dispatch under `resumeKey` in the same transaction, unless one is
   * open under that key; a store without a queue refuses that with `capability_mismatch`. A known wish changes nothing.
   */
  append(wish: NewWish, options?: { readonly resume?: boolean }): Promise<AppendedWish>;

  load(wishId: string): Promise<WishRecord | undefined>;

  /** Those of the run that nobody took, the oldest first. */
  listOpen(runId: RunId): Promise<readonly WishRecord[]>;
}
