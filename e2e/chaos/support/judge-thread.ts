import { isJsonObject, type Message, messageToolCalls, type RunRecord } from "@awaken/contract";
import { effectiveMessages, type LedgerEntry } from "@awaken/contract/store";
import { TOOLS } from "./agent.ts";
import { kindOf } from "./client.ts";
import type { History } from "./history.ts";
import type { Entry } from "./journal.ts";
import type { Execution } from "./world.ts";

/** What people did to a thread and its runs, by their journals. */
export interface Deeds {
  /** Starts and messages of the thread, the earliest first. */
  readonly said: readonly Entry[];
  /** Runs that somebody tried to cancel. */
  readonly cancelled: ReadonlySet<string>;
  /** What a decision said, by its id. */
  readonly actions: ReadonlyMap<string, "approve" | "deny">;
}

/** All that is wrong with it. */
export function judgeThread(history: History, deeds: Deeds): readonly string[] {
  const found = [
    ...judgeRest(history),
    ...judgeRuns(history, deeds),
    ...judgeLog(history),
    ...judgeOrder(history, deeds),
    ...judgeCalls(history),
    ...judgeConsent(history, deeds),
  ];
  return found.map((fault) => `${history.thread}: ${fault}`);
}

/** Nothing is left to do, and nothing was given up. */
function judgeRest({ dispatches, pending, wishes, runs }: History): string[] {
  // What somebody wants of a run that is over moves nothing any more; whether it was a decision that was promised is judged elsewhere.
  const left = wishes.filter(({ runId }) => runs.find((run) => run.runId === runId)?.status !== "done");
  const open = dispatches.filter(({ status }) => status === "queued" || status === "claimed");
  const dead = dispatches.filter(({ status }) => status === "dead-letter");
  return [
    ...open.map(({ dispatchId, status, runId }) => `dispatch ${dispatchId} of run ${runId} is ${status}`),
    ...dead.map(({ runId, lastError }) => `run ${runId} is a dead letter: ${lastError}`),
    ...(pending === 0 ? [] : [`${pending} messages are pending`]),
    ...left.map(({ type, wishId, runId }) => `the ${type} ${wishId} of run ${runId} was not followed`),
  ];
}

function judgeRuns({ thread, runs }: History, { cancelled }: Deeds): string[] {
  return runs.flatMap((run): string[] => {
    if (run.status !== "done") return [`run ${run.runId} is ${run.status}`];
    const { termination } = run.outcome;
    // Whoever goes on talking leaves a run behind that waits.
    const mayStop = cancelled.has(run.runId) || kindOf(thread) === "talk";
    const isRight = termination.type === "natural-end" || (termination.type === "cancelled" && mayStop);
    return isRight ? [] : [`run ${run.runId} ended as ${JSON.stringify(termination)}`];
  });
}

/** No row is missing or there twice, each call has its result, and the runs of a queue do not mix. */
function judgeLog({ thread, rows }: History): string[] {
  const faults: string[] = [];
  if (rows.some(({ seq }, index) => seq !== index + 1)) faults.push("rows of the log are missing");
  const ids = rows.map(({ message }) => message.id);
  if (new Set(ids).size !== ids.length) faults.push("a message is in the log twice");
  let open: string[] = [];
  for (const { message } of effectiveMessages(rows)) {
    if (message.role === "tool") {
      if (message.toolCallId !== open.shift()) faults.push(`the result ${message.id} stands in a wrong place`);
    } else {
      if (open.length > 0) faults.push(`calls without a result: ${open.join(", ")}`);
      open = messageToolCalls(message).map(({ id }) => id);
    }
  }
  return kindOf(thread) === "talk" ? faults : [...faults, ...judgeBlocks(rows.map(({ message }) => message))];
}

function judgeBlocks(messages: readonly Message[]): string[] {
  const faults: string[] = [];
  const over = new Set<string>();
  let current: string | undefined;
  for (const { metadata } of messages) {
    const run = metadata?.runId;
    if (run === undefined || run === current) continue;
    if (over.has(run)) faults.push(`run ${run} wrote after a later run`);
    if (current !== undefined) over.add(current);
    current = run;
  }
  return faults;
}

/** What was accepted is there once, in the order in which it was accepted. */
function judgeOrder({ thread, rows, runs, dispatches }: History, { said, cancelled }: Deeds): string[] {
  const faults: string[] = [];
  const seqs = new Map<string, number>(rows.map(({ seq, message }) => [message.id, seq]));
  const texts = new Map(runs.map((run) => [String(run.runId), run]));
  const accepted: { readonly at: number; readonly seq: number; readonly message: string; readonly run: string | undefined }[] = [];
  for (const { deed, begunAt, end } of said) {
    if (deed.op !== "start" && deed.op !== "send") continue;
    const seq = seqs.get(deed.message);
    if (seq === undefined) {
      if (end.type !== "accepted") continue;
      const run = texts.get(String(end.answer));
      if (isStopped(run) && (cancelled.has(String(end.answer)) || kindOf(thread) === "talk")) continue;
      faults.push(`the ${deed.op} of message ${deed.message} (run ${String(end.answer)}) was accepted and is lost`);
      continue;
    }
    if (deed.op !== "start" || kindOf(thread) !== "line") continue;
    const late = accepted.find((other) => other.at < begunAt && other.seq > seq);
    if (late !== undefined) {
      const queued = dispatches.filter(({ runId }) => runId === deed.run || runId === late.run).map((row) => JSON.stringify(row));
      faults.push(`message ${deed.message} overtook ${late.message}, which was accepted before: ${queued.join(", ")}`);
    }
    if (end.type === "accepted") accepted.push({ at: end.at, seq, message: deed.message, run: deed.run });
  }
  return faults;
}

const isStopped = (run: RunRecord | undefined): boolean => run?.status === "done" && run.outcome.termination.type === "cancelled";

const receiptOf = (entry: LedgerEntry): unknown => {
  if (entry.status !== "finished" || entry.result.type !== "success") return undefined;
  return isJsonObject(entry.result.data) ? entry.result.data["receipt"] : undefined;
};

const seen = ({ tool, order, key, pid, at }: Execution): string => `${tool} of ${order} in process ${pid} at ${at} (key ${key})`;

/** What is finished does not run again; an order has one effect, and what is on record is what happened. */
function judgeCalls({ ledger, executions, runs }: History): string[] {
  const faults: string[] = [];
  const entries = new Map(ledger.map((entry) => [entry.idempotencyKey, entry]));
  for (const execution of executions) {
    const entry = entries.get(execution.key);
    // A pure tool has no effect and is never claimed: whoever does not know of a result may ask it again.
    const finishedAt = execution.tool !== TOOLS.p && entry?.status === "finished" ? entry.settledAt : undefined;
    if (finishedAt !== undefined && finishedAt < execution.at)
      faults.push(`ran again after it was finished at ${finishedAt}: ${seen(execution)}`);
    if (execution.tool !== TOOLS.p && entry === undefined) faults.push(`ran without a claim: ${seen(execution)}`);
    const same = executions.find(({ order, isNew }) => order === execution.order && isNew);
    if (execution.isNew && execution.tool !== TOOLS.p && same !== execution && same !== undefined)
      faults.push(`happened twice: ${seen(same)}, ${seen(execution)}`);
  }
  for (const entry of ledger) {
    const happened = executions.find(({ key }) => key === entry.idempotencyKey);
    // A run that is stopped asks the tools that can tell; of others nobody knows.
    const isOpen =
      entry.status === "claimed" && (entry.toolName === TOOLS.r || !isStopped(runs.find(({ runId }) => runId === entry.runId)));
    if (isOpen) faults.push(`the effect ${entry.idempotencyKey} has no outcome`);
    const receipt = receiptOf(entry);
    if (receipt !== undefined && happened?.receipt !== receipt)
      faults.push(`the effect ${entry.idempotencyKey} is on record and did not happen so`);
  }
  return faults;
}

/** What needs consent runs when somebody gave it. */
function judgeConsent({ runs, ledger, executions }: History, { actions }: Deeds): string[] {
  return executions.flatMap((execution) => {
    if (execution.tool !== TOOLS.s) return [];
    const entry = ledger.find(({ idempotencyKey }) => idempotencyKey === execution.key);
    const run = runs.find(({ runId }) => runId === entry?.runId);
    const decided = (run?.decided ?? []).filter(({ toolCallId }) => toolCallId === entry?.toolCallId);
    return decided.some(({ decisionId }) => actions.get(decisionId) === "approve") ? [] : [`ran without consent: ${seen(execution)}`];
  });
}
