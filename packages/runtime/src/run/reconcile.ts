import {
  AwakenError,
  asItIsNow,
  copyJson,
  isJson,
  type JsonValue,
  type RunRecord,
  runIdentity,
  type ToolResult,
  ticketId,
} from "@awaken/contract";
import { type LedgerEntry, sameJson } from "@awaken/contract/store";
import { Landing } from "../commit/land.ts";
import { lateResult } from "../loop/closing-messages.ts";
import type { LastingRecords } from "../loop/run-records.ts";
import { notDoneResult } from "../loop/unknown-call.ts";
import type { RunParts } from "./run-parts.ts";

/** What somebody found out about a call whose outcome was lost: it happened, and this is what it gave; or it did not. */
export type Finding = (
  | {
      readonly type: "done";
      /** What the call gave; the model reads it as its result. */
      readonly data: JsonValue;
    }
  | { readonly type: "not-done" }
) & {
  /** Who found out; kept on record. */
  readonly by?: string;
};

const unknown = (target: string) =>
  new AwakenError("ticket_not_found", `no call with an unknown outcome has the ticket or the idempotency key '${target}'`, {
    details: { target },
  });

/** By its key, or by the ticket that asked about it. */
async function findEntry(records: LastingRecords, target: string): Promise<LedgerEntry | undefined> {
  const byKey = await records.ledger.load(target);
  if (byKey !== undefined) return byKey;
  for (const { runId } of await records.runs.listByTicket(ticketId(target))) {
    const entries = await records.ledger.list(runId, { statuses: ["suspended"] });
    const found = entries.find((entry) => entry.status === "suspended" && entry.result.suspension.id === target);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** A call that its run still brings to its end is nobody else's: its ticket is decided, or whoever executes it tells. */
function checkClosed(run: RunRecord, entry: LedgerEntry): void {
  if (run.status === "done" || entry.status === "finished") return;
  const ticket = entry.status === "suspended" ? entry.result.suspension.id : undefined;
  if (ticket !== undefined && run.closed?.some((one) => one.ticketId === ticket)) return;
  const { runId } = run;
  if (run.status === "waiting")
    throw new AwakenError("invalid_resume", `the call waits in run '${runId}': decide its ticket`, { details: { runId } });
  throw new AwakenError("thread_already_running", `run '${runId}' is ${run.status}: resume or cancel it first`, { details: { runId } });
}

function readFinding(finding: Finding, entry: LedgerEntry): Exclude<ToolResult, { type: "pending" }> {
  if (finding.type === "not-done") return notDoneResult(entry.toolName);
  if (finding.type === "done" && isJson(finding.data)) return { type: "success", data: copyJson(finding.data) };
  throw new AwakenError("invalid_activation", "invalid activation: a finding is done, with data that is JSON, or not-done");
}

/**
 * Puts on record what somebody knows about a call that was left behind with an unknown outcome: it is the result of the call from then on,
 * for every run that begins later, and the call's outcome in the ledger. Nothing runs. The same finding twice is on record once.
 */
export async function reconcile({ records, ids, clock }: RunParts, target: string, given: Finding): Promise<void> {
  const finding = asItIsNow(given);
  if (records.ledger === undefined) throw unknown(target);
  const entry = await findEntry(records, target);
  const run = entry === undefined ? undefined : await records.runs.load(entry.runId);
  if (entry === undefined || run === undefined) throw unknown(target);
  checkClosed(run, entry);
  const result = readFinding(finding, entry);
  const { idempotencyKey, attempt, threadId, messageId, toolCallId, toolName, input } = entry;
  if (entry.status === "finished") {
    if (sameJson(entry.result, result)) return;
    throw new AwakenError("idempotency_conflict", `the outcome of '${toolName}' is on record already`, { details: { idempotencyKey } });
  }
  const identity = runIdentity(run);
  const message = lateResult({ ids, identity, tally: { steps: entry.step } }, { id: toolCallId, name: toolName, input, messageId }, result);
  const by = finding.by === undefined ? {} : { by: finding.by };
  const fact = { type: "outcome-found", toolCallId, toolName, idempotencyKey, found: finding.type, foundAt: clock.now(), ...by } as const;
  const messageCount = (await records.threads.loadHead(threadId))?.messageCount ?? 0;
  const { activation } = run;
  const landing = new Landing({ store: records, identity, activation, input: [], resumed: undefined, messageCount, latestAt: 0, clock });
  await landing.append({ messages: [message], events: [fact], outcomes: [{ idempotencyKey, attempt, result }] });
}
