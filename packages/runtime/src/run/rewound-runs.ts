import {
  type AgentEvent,
  isToolCallOver,
  type Message,
  type MessageId,
  openTicketsOf,
  type PersistedState,
  type RunRecord,
  runIdentity,
  type ThreadId,
  type ToolCallState,
  type ToolMessage,
} from "@awaken/contract";
import { type LedgerEntry, MAX_LIMIT, type Page, type RunPosition, type ThreadHead } from "@awaken/contract/store";
import type { News } from "../commit/compose.ts";
import { type OpenEntry, RunLedger } from "../commit/run-ledger.ts";
import { abandonCall } from "../loop/abandon-calls.ts";
import { lateResult } from "../loop/closing-messages.ts";
import { endNews, type OpenRunRecord } from "../loop/end-news.ts";
import { closeCall } from "../loop/lost-call.ts";
import { closedTicket } from "../state/closed-ticket.ts";
import { storedCalls, toolCallStates } from "../state/tool-call-states.ts";
import type { EndingHolding } from "./holds.ts";
import type { RunParts } from "./run-parts.ts";

const isOpenRun = (run: RunRecord): run is OpenRunRecord => run.status === "running" || run.status === "waiting";

/** Runs that would go on with what is gone: the thread names one or two of them. */
async function openRuns({ records }: RunParts, thread: ThreadId): Promise<readonly OpenRunRecord[]> {
  const open: OpenRunRecord[] = [];
  for (let after: RunPosition | undefined, isMore = true; isMore; isMore = after !== undefined) {
    const query = { threadId: thread, statuses: ["running", "waiting"] as const, limit: MAX_LIMIT };
    const page: Page<RunRecord, RunPosition> = await records.runs.list(after === undefined ? query : { ...query, after });
    open.push(...page.items.filter(isOpenRun));
    after = page.next;
  }
  return open;
}

/** The calls of the step that nobody goes on with are over; everything else stays. */
export function withoutCalls(state: PersistedState | undefined): PersistedState | undefined {
  if (state === undefined || storedCalls(state).length === 0) return state;
  return { ...state, extensions: { ...state.extensions, [toolCallStates.name]: { calls: [] } } };
}

const isUnfinished = (entry: LedgerEntry): entry is OpenEntry => entry.status !== "finished";

/** A run that is to be ended, with what its ledger has open. */
export interface Left {
  readonly run: OpenRunRecord;
  readonly entries: readonly OpenEntry[];
  /** Undefined: nobody waits for it elsewhere, nor it for others. */
  readonly holding: EndingHolding | undefined;
}

export async function readLeft(parts: RunParts, thread: ThreadId): Promise<readonly Left[]> {
  const open = await openRuns(parts, thread);
  return Promise.all(
    open.map(async (run) => {
      const entries = await parts.records.ledger?.list(run.runId, { statuses: ["claimed", "suspended"] });
      return { run, entries: entries?.filter(isUnfinished) ?? [], holding: await parts.holds?.endingOf(run) };
    }),
  );
}

/** The same, with the calls of the thread that are its own. */
export interface Ending extends Left {
  readonly calls: readonly ToolCallState[];
}

/** The state of the thread has the calls of all of them: a call is that of the run with its ticket, else of the last one. */
export function endingsOf(left: readonly Left[], head: ThreadHead): readonly Ending[] {
  let rest = storedCalls(head.state).filter(({ status }) => !isToolCallOver(status));
  return left.map((each, index) => {
    const tickets = new Set(openTicketsOf(each.run).map(({ id }) => id));
    const isOwn = ({ suspension }: ToolCallState) => suspension !== undefined && tickets.has(suspension.id);
    const calls = index === left.length - 1 ? rest : rest.filter(isOwn);
    rest = rest.filter((call) => !calls.includes(call));
    return { ...each, calls };
  });
}

/** What takes the rows out. */
export interface Taking {
  /** Ids of all rows that go. */
  readonly ids: ReadonlySet<MessageId>;
  readonly by: MessageId;
  /** What stands in the log for it. */
  readonly rows: readonly Message[];
  /** What followers are told. */
  readonly event: AgentEvent;
}

/**
 * How a run ends there. Calls that wait are closed; the row of one that may have had its effect stays open for whoever finds out, and
 * nobody runs it again. What is known of calls that stay in view is said behind the row.
 */
export function endOf(
  { scopeId, ids, clock }: RunParts,
  { run, entries, calls }: Ending,
  head: ThreadHead,
  { ids: gone, by, rows, event }: Taking,
  isLast: boolean,
): News {
  const ledger = new RunLedger({ runId: run.runId, scopeId }, entries);
  const maker = { ids, identity: runIdentity(run), tally: { steps: run.steps } };
  const said = calls.map((call) => ({ call: call.messageId, message: abandonCall(maker, ledger, call, clock.now()) }));
  const cutOff = entries.filter(
    ({ status, messageId: of, toolCallId }) =>
      status === "claimed" && !calls.some((call) => call.messageId === of && call.id === toolCallId),
  );
  for (const { messageId: of, toolCallId: id, toolName: name, input } of cutOff) {
    const call = { id, name, input };
    said.push({ call: of, message: lateResult(maker, { ...call, messageId: of }, closeCall(ledger, { messageId: of, call }, undefined)) });
  }
  const kept = said.flatMap(({ call, message }): ToolMessage[] => (gone.has(call) ? [] : [message]));
  const end = {
    run,
    view: head.messages,
    messages: isLast ? [...rows, ...kept] : kept,
    threadState: withoutCalls(head.state),
    tickets: calls.flatMap((call) => closedTicket(call, by)),
    events: [],
    outcomes: ledger.takeOutcomes(),
  };
  const news = endNews(end, clock.now());
  return isLast ? { ...news, events: [...news.events, event] } : news;
}
