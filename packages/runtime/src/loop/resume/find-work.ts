import { AwakenError, isToolCallOver, type RunRecord, type ThreadId, type ToolCallState } from "@awaken/contract";
import type { LedgerEntry, ThreadHead } from "@awaken/contract/store";
import { rowsAfter } from "../../commit/rows-after.ts";
import type { OpenEntry } from "../../commit/run-ledger.ts";
import { storedCalls } from "../../state/tool-call-states.ts";
import type { LastingRecords } from "../run-records.ts";
import { type CutMessage, cutClaims, restoreCut } from "./cut-step.ts";
import type { OpenWork } from "./open-work.ts";

const isUnfinished = (entry: LedgerEntry): entry is OpenEntry => entry.status !== "finished";

/** Of a run that has begun, and goes on. */
export async function findWork(records: LastingRecords, head: ThreadHead | undefined, resumed: RunRecord): Promise<OpenWork> {
  const messages = head?.messages ?? [];
  const entries = await records.ledger.list(resumed.runId, { statuses: ["claimed", "suspended"] });
  const ledger = entries.filter(isUnfinished);
  const claims = cutClaims(ledger, head?.state);
  // In a round that was put on record before it was over, calls may have been under way that nobody claims.
  const open = resumed.status === "running" ? storedCalls(head?.state).filter(({ status }) => !isToolCallOver(status)) : [];
  let work: OpenWork = { messages, cutCalls: [], ledger };
  for (const cut of await cutMessages(records, resumed.threadId, claims, open)) {
    const { messages: view, cutCalls } = restoreCut(work.messages, cut, resumed.runId);
    work = { messages: view, cutCalls: [...work.cutCalls, ...cutCalls], ledger };
  }
  if (work.cutCalls.length > 0) refuseBusy(head, resumed);
  return work;
}

/** Results of a step that was cut off would get between the calls of a run that came later and is not over. */
function refuseBusy(head: ThreadHead | undefined, resumed: RunRecord): void {
  const other = head?.openRun;
  if (other === undefined || other.runId === resumed.runId || other.status === "created") return;
  const { threadId, runId } = other;
  const message = `run '${runId}' was started on thread '${threadId}' since and is ${other.status}: finish or cancel it first`;
  throw new AwakenError("thread_already_running", message, { details: { threadId, runId } });
}

async function cutMessages(
  { messages }: Pick<LastingRecords, "messages">,
  threadId: ThreadId,
  claims: readonly LedgerEntry[],
  open: readonly ToolCallState[],
): Promise<readonly CutMessage[]> {
  if (claims.length + open.length === 0) return [];
  const logged = await messages.load(threadId, [...new Set([...claims, ...open].map((call) => call.messageId))]);
  const later = logged[0] === undefined ? [] : await rowsAfter(messages, threadId, logged[0].seq);
  return logged.flatMap(({ seq, message }): CutMessage[] => {
    if (message.role !== "assistant") return [];
    const own = claims.filter((claim) => claim.messageId === message.id);
    return [{ seq, message, claims: own, later: later.filter((row) => row.seq > seq) }];
  });
}
