import { AwakenError } from "../error.ts";
import type { MessageId, RunId, ThreadId, ToolCallId } from "../ids.ts";
import { type JsonValue, sameJson } from "../json.ts";
import * as s from "../schema/all.ts";
import { jsonValueSchema, runIdSchema, threadIdSchema, toolCallIdSchema } from "../stored.ts";
import type { ToolFailure, ToolPending, ToolResult, ToolSuccess } from "../tool.ts";
import { defineRecord } from "./record.ts";
import { countSchema, messageIdSchema, nonBlankSchema, positionSchema, timeSchema } from "./row-schemas.ts";
import { finalResultSchema, pendingResultSchema } from "./tool-result-schema.ts";

export const LEDGER_SCHEMA_VERSION = 1;

/** Says, before a tool starts, that it will. */
export interface LedgerClaim {
  /** `effectKey` of the call: the same for each try. */
  readonly idempotencyKey: string;
  /** 1 for the first try; a later one names the number after the last, so that two processes cannot both begin it. */
  readonly attempt: number;
  /** The assistant message with the call. */
  readonly messageId: MessageId;
  readonly toolCallId: ToolCallId;
  readonly toolName: string;
  readonly step: number;
  readonly input: JsonValue;
}

export interface LedgerOutcome {
  readonly idempotencyKey: string;
  /** The try that it is the outcome of. */
  readonly attempt: number;
  readonly result: ToolResult;
}

interface LedgerBody extends LedgerClaim {
  readonly schemaVersion: typeof LEDGER_SCHEMA_VERSION;
  readonly threadId: ThreadId;
  readonly runId: RunId;
  readonly claimedAt: number;
}

/** `claimed` after a crash means: nobody knows whether the effect happened. `suspended` may be claimed again, `finished` never. */
export type LedgerEntry =
  | (LedgerBody & { readonly status: "claimed" })
  | (LedgerBody & { readonly status: "suspended"; readonly result: ToolPending; readonly settledAt: number })
  | (LedgerBody & { readonly status: "finished"; readonly result: ToolSuccess | ToolFailure; readonly settledAt: number });

const body = {
  schemaVersion: s.literal(LEDGER_SCHEMA_VERSION),
  idempotencyKey: nonBlankSchema,
  attempt: positionSchema,
  threadId: threadIdSchema,
  runId: runIdSchema,
  messageId: messageIdSchema,
  toolCallId: toolCallIdSchema,
  toolName: nonBlankSchema,
  step: countSchema,
  input: jsonValueSchema,
  claimedAt: timeSchema,
};

export const entrySchema = s.taggedUnion("status", [
  s.strictObject({ ...body, status: s.literal("claimed") }),
  s.strictObject({ ...body, status: s.literal("suspended"), result: pendingResultSchema, settledAt: timeSchema }),
  s.strictObject({ ...body, status: s.literal("finished"), result: finalResultSchema, settledAt: timeSchema }),
]);

export const ledgerEntry = defineRecord<LedgerEntry>({
  name: "ledger entry",
  version: LEDGER_SCHEMA_VERSION,
  schema: entrySchema,
  accepts: s.guardOf<LedgerEntry>(entrySchema),
});

const conflict = (code: "idempotency_conflict" | "version_conflict", key: string, why: string) =>
  new AwakenError(code, `effect '${key}' ${why}`, { details: { idempotencyKey: key } });

export interface EffectOwner {
  readonly threadId: ThreadId;
  readonly runId: RunId;
  readonly now: number;
}

/**
 * The row of a claim. `idempotency_conflict` when the effect is finished or the key belongs to another call; `version_conflict` when
 * the attempt is not the next one. What a composed commit vouches for is not checked.
 */
export function claimEffect(before: LedgerEntry | undefined, claim: LedgerClaim, owner: EffectOwner, isVouched = false): LedgerEntry {
  const { idempotencyKey: key, attempt } = claim;
  const { threadId, runId, now } = owner;
  if (before?.status === "finished") throw conflict("idempotency_conflict", key, "is finished");
  if (before !== undefined && !isSameCall(before, { ...claim, runId })) throw conflict("idempotency_conflict", key, "is of another call");
  if (attempt !== (before?.attempt ?? 0) + 1) throw conflict("version_conflict", key, `is at attempt ${before?.attempt ?? 0}`);
  const claimed: LedgerEntry = { ...claim, schemaVersion: LEDGER_SCHEMA_VERSION, status: "claimed", threadId, runId, claimedAt: now };
  return isVouched ? claimed : ledgerEntry.check(claimed);
}

/** The input may differ: a decision can edit it between two tries. */
function isSameCall(entry: LedgerEntry, claim: LedgerClaim & { readonly runId: RunId }): boolean {
  const keys = ["runId", "messageId", "toolCallId", "toolName"] as const;
  return keys.every((key) => entry[key] === claim[key]);
}

/**
 * The row of an outcome; the same outcome twice is the same row. A suspended one may be finished without another try: it was answered. `storage_not_found` without a claim, `version_conflict` for another
 * attempt, `idempotency_conflict` for another outcome of a finished effect.
 */
export function settleEffect(before: LedgerEntry | undefined, outcome: LedgerOutcome, now: number, isVouched = false): LedgerEntry {
  const { idempotencyKey: key, attempt, result } = outcome;
  if (before === undefined) throw new AwakenError("storage_not_found", `effect '${key}' was never claimed`);
  if (before.attempt !== attempt) throw conflict("version_conflict", key, `is at attempt ${before.attempt}, not ${attempt}`);
  if (before.status !== "claimed" && sameJson(before.result, result)) return before;
  const isOpen = before.status === "claimed" || (before.status === "suspended" && result.type !== "pending");
  if (!isOpen) throw conflict("idempotency_conflict", key, "has another outcome");
  const settled: LedgerEntry =
    result.type === "pending"
      ? { ...before, status: "suspended", result, settledAt: now }
      : { ...before, status: "finished", result, settledAt: now };
  return isVouched ? settled : ledgerEntry.check(settled);
}

/** The effect ledger, read only: claims and outcomes are parts of a commit. Keys are unique in a tenant. */
export interface LedgerStore {
  load(idempotencyKey: string): Promise<LedgerEntry | undefined>;

  /** In the order of their claims. What a resumed run asks first: which of my effects are `claimed`? */
  list(runId: RunId, query?: { readonly statuses?: readonly LedgerEntry["status"][] }): Promise<readonly LedgerEntry[]>;
}
