import {
  AwakenError,
  checkOptions,
  isToolCallOver,
  type Message,
  type MessageId,
  messageId,
  needed,
  type PartRules,
  type PersistedState,
  RULES,
  type RunId,
  type RunRecord,
  runId,
  runIdentity,
  type SystemMessage,
  type ThreadId,
  type ToolMessage,
  threadId,
} from "@awaken/contract";
import type { LedgerEntry, SequencedMessage, ThreadHead } from "@awaken/contract/store";
import { Landing } from "../commit/land.ts";
import { type OpenEntry, RunLedger } from "../commit/run-ledger.ts";
import { lateResult } from "../loop/messages.ts";
import { endNews } from "../loop/resume/close-run.ts";
import { storedCalls } from "../loop/resume/cut-step.ts";
import type { LeftRun } from "../loop/resume/load-thread.ts";
import { closeCall } from "../loop/resume/lost-call.ts";
import { rowsAfter } from "../loop/resume/open-work.ts";
import { type RewoundRows, rewindOver, rewoundRows } from "../loop/resume/rewound-rows.ts";
import { abandonCall } from "../loop/resume/supersede.ts";
import { closedTicket } from "../state/past-tickets.ts";
import { toolCallStates } from "../state/tool-call-states.ts";
import type { RunParts } from "./run-parts.ts";

/** How far back. */
export interface RewindOptions {
  /** The first message that goes. Not the result of a call, which goes with the message that asks for it. */
  readonly toMessageId: string;
}

/** What a rewind took out of the view. The log keeps it. */
export interface Rewound {
  /** The message that was named: its content can be edited, and sent again. */
  readonly message: Message;
  /** All that is gone, in the order of the log; the message that was named is the first. */
  readonly taken: readonly Message[];
  /** Runs that waited or were cut off, and are over now, as cancelled. */
  readonly cancelled: readonly RunId[];
}

const REWIND_OPTIONS: PartRules<RewindOptions> = { toMessageId: needed(RULES.name) };

/** How often a thread is tried for whose holder turned out to be gone. */
const MAX_TRIES = 3;

/** What is to go. */
interface Cut extends RewoundRows {
  readonly from: SequencedMessage;
  /** Of all rows that go. */
  readonly ids: ReadonlySet<MessageId>;
}

async function readCut({ records }: RunParts, thread: ThreadId, id: MessageId): Promise<Cut> {
  const details = { threadId: thread, messageId: id };
  const [from] = await records.messages.load(thread, [id]);
  if (from === undefined) throw new AwakenError("storage_not_found", `thread '${thread}' has no message '${id}'`, { details });
  const { seq, message } = from;
  const later = await rowsAfter(records.messages, thread, seq);
  if (message.visibility === "internal" || message.metadata?.compaction !== undefined || rewindOver(seq, later) !== undefined) {
    throw new AwakenError("storage_not_found", `message '${id}' is not in view on thread '${thread}'`, { details });
  }
  if (message.role === "tool") {
    throw new AwakenError("invalid_activation", `message '${id}' is the result of a call: rewind to the message that asks for it`, {
      details,
    });
  }
  const rows = [{ seq, message }, ...later];
  return { from, ids: new Set(rows.map((row) => row.message.id)), ...rewoundRows(rows) };
}

/** Runs that would go on with what is gone. */
function openRuns({ openRun, latestRun }: ThreadHead): readonly LeftRun[] {
  const isLeft = (run: RunRecord | undefined): run is LeftRun => run?.status === "running" || run?.status === "waiting";
  const runs = [openRun, latestRun].filter(isLeft);
  return runs.filter(({ runId: id }, index) => runs.findIndex((run) => run.runId === id) === index);
}

function rewindRow(id: MessageId, { from }: Cut): SystemMessage {
  return { id, role: "system", visibility: "internal", content: [], metadata: { rewind: { fromSeq: from.seq } } };
}

function landingOn({ records, clock }: RunParts, head: ThreadHead, run: RunRecord, resumed: RunRecord | undefined): Landing {
  const { messageCount, latestRun } = head;
  const latestAt = latestRun?.updatedAt ?? 0;
  const { activation } = run;
  const now = () => clock.now();
  return new Landing({ store: records, identity: runIdentity(run), activation, input: [], resumed, messageCount, latestAt, now });
}

/** The calls of the step that nobody goes on with are over; everything else stays. */
function withoutCalls(state: PersistedState | undefined): PersistedState | undefined {
  if (state === undefined || storedCalls(state).length === 0) return state;
  return { ...state, extensions: { ...state.extensions, [toolCallStates.name]: { calls: [] } } };
}

const isUnfinished = (entry: LedgerEntry): entry is OpenEntry => entry.status !== "finished";

/**
 * Ends a run, and rewinds in the same commit when `row` is given. Calls that wait are closed; the row of one that may have had its effect
 * stays open for whoever finds out, and nobody runs it again. What is known of calls that stay in view is said behind the row.
 */
async function endRun(parts: RunParts, run: LeftRun, head: ThreadHead, cut: Cut, by: MessageId, row: readonly Message[]): Promise<void> {
  const { records, scopeId, ids, clock } = parts;
  const entries = (await records.ledger?.list(run.runId, { statuses: ["claimed", "suspended"] }))?.filter(isUnfinished) ?? [];
  const ledger = new RunLedger({ runId: run.runId, scopeId }, entries);
  const calls = storedCalls(head.state).filter(({ status }) => !isToolCallOver(status));
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
  const kept = said.flatMap(({ call, message }): ToolMessage[] => (cut.ids.has(call) ? [] : [message]));
  const end = {
    run,
    view: head.messages,
    messages: [...row, ...kept],
    threadState: withoutCalls(head.state),
    tickets: calls.flatMap((call) => closedTicket(call, by)),
    events: [],
    outcomes: ledger.takeOutcomes(),
  };
  await landingOn(parts, head, run, run).land(endNews(end, clock.now()));
}

async function loadHead({ records }: RunParts, thread: ThreadId): Promise<ThreadHead> {
  const head = await records.threads.loadHead(thread);
  if (head !== undefined) return head;
  throw new AwakenError("thread_not_found", `thread not found: ${thread}`, { details: { threadId: thread } });
}

async function takeOut(parts: RunParts, thread: ThreadId, id: MessageId): Promise<Rewound> {
  const { ids } = parts;
  let head = await loadHead(parts, thread);
  const cut = await readCut(parts, thread, id);
  const by = messageId(ids());
  const rows: readonly Message[] = [rewindRow(by, cut), ...cut.late.map((late) => ({ ...late, id: messageId(ids()) }))];
  const cancelled: RunId[] = [];
  for (let left = openRuns(head); left[0] !== undefined; left = openRuns(head)) {
    const isLast = left.length === 1;
    await endRun(parts, left[0], head, cut, by, isLast ? rows : []);
    cancelled.push(left[0].runId);
    if (isLast) return told(cut, cancelled);
    head = await loadHead(parts, thread);
  }
  await append(parts, head, rows);
  return told(cut, cancelled);
}

const told = ({ from, taken }: Cut, cancelled: readonly RunId[]): Rewound => ({
  message: from.message,
  taken: taken.map(({ message }) => message),
  cancelled,
});

/** Beside the latest run of the thread, whose record stays as it is. */
async function append(parts: RunParts, head: ThreadHead, messages: readonly Message[]): Promise<void> {
  const { latestRun, messageCount, thread } = head;
  if (latestRun !== undefined) return landingOn(parts, head, latestRun, undefined).append({ messages });
  // Nobody ran here: the log was brought from elsewhere.
  const messageDelta = { messages, expectedMessageCount: messageCount };
  await parts.records.commit({ threadId: thread.id, runId: runId(parts.ids()), messageDelta, events: [] });
}

/**
 * Takes a message, and all that came behind it, out of what models see, with one commit that also ends the run that waits there. The
 * thread is taken while it lasts, as by a run; who holds it in another process keeps it.
 */
export async function rewind(parts: RunParts, thread: string, options: RewindOptions): Promise<Rewound> {
  checkOptions("invalid_activation", "rewind", options, REWIND_OPTIONS);
  const [id, target] = [threadId(thread), messageId(options.toMessageId)];
  const slot = parts.active.claim(id, runId(parts.ids()));
  // It reads nothing: whoever sends something is told so.
  slot.inbox.close();
  slot.decisions.close();
  try {
    for (let tries = 1; ; tries++) {
      try {
        return await takeOut(parts, id, target);
      } catch (thrown) {
        const isHeld = AwakenError.is(thrown) && thrown.code === "fence_lost";
        if (!isHeld || parts.holds === undefined || tries === MAX_TRIES) throw thrown;
        await parts.holds.makeRoom(id);
      }
    }
  } finally {
    parts.active.release(slot);
  }
}
