import {
  AwakenError,
  type LedgerEntry,
  MAX_LIMIT,
  type MessageId,
  type MessageRecord,
  type Page,
  type PersistedState,
  type RunId,
  type RunRecord,
  type SequencedMessage,
  sameJson,
  type ThreadCheckpoint,
  type ThreadId,
} from "@awaken/contract";
import type { ThreadHistory } from "../loop/open-run.ts";
import type { OpenEntry } from "../loop/run-ledger.ts";
import { activeAgent } from "../state/active-agent.ts";
import { agentOfCut, type CutMessage, cutClaims, restoreCut, storedCalls } from "./cut-step.ts";
import type { LastingRecords, RunRecords } from "./run-parts.ts";
import type { RunIntentInput, RunOrder } from "./run-request.ts";

const DEFAULT_AGENT = "default";

/** What the records say that a new activation depends on. */
export interface LoadedThread {
  readonly history: ThreadHistory;
  /** The agent that the run is of. */
  readonly agentId: string;
  /** The agent that acts now: another one after a handoff. */
  readonly actingAgentId: string;
  /** Messages of the request that are in the log already. */
  readonly logged: ReadonlySet<MessageId>;
  /** The run that goes on, if one does. */
  readonly resumed: RunRecord | undefined;
  /** A run that waits for decisions and is not the one that goes on: a new user message leaves it nothing to wait for. */
  readonly abandonable: WaitingRecord | undefined;
}

type ResumeIntent = Extract<RunIntentInput, { type: "resume" }>;
type WaitingRecord = Extract<RunRecord, { status: "waiting" }>;

const refuse = (why: string): never => {
  throw new AwakenError("invalid_resume", `invalid resume: ${why}`);
};

function storedAgent(state: PersistedState | undefined): string | undefined {
  const value = state?.extensions[activeAgent.name];
  return typeof value === "string" && value.trim() !== "" ? value : undefined;
}

/** The agent whose calls wait: they are replayed with its tools, and only then the agent that it handed the thread to goes on. */
const callingAgent = (state: PersistedState | undefined): string | undefined =>
  storedCalls(state).find((call) => call.status === "suspended" || call.status === "resuming")?.agentId;

function checkThread(run: RunRecord, threadId: ThreadId, role: string): RunRecord {
  if (run.threadId === threadId) return run;
  return refuse(`${role} '${run.runId}' belongs to thread '${run.threadId}' but activation targets thread '${threadId}'`);
}

const takenUp = ({ threadId, runId }: RunRecord) =>
  new AwakenError("thread_already_running", `run '${runId}' of thread '${threadId}' was taken up by somebody else`, {
    details: { threadId, runId },
  });

async function namedRun(records: RunRecords, threadId: ThreadId, { runId, seen }: ResumeIntent): Promise<RunRecord> {
  const run = await records.runs.load(runId);
  if (run === undefined) return refuse(`continue_run_id '${runId}' does not reference an existing run`);
  if (seen !== undefined && !sameJson(run, seen)) throw takenUp(run);
  return checkThread(run, threadId, "continue_run_id").status === "done" ? refuse(`run '${runId}' is done`) : run;
}

async function hintedRun(records: RunRecords, threadId: ThreadId, runId: RunId): Promise<RunRecord | undefined> {
  const run = await records.runs.load(runId);
  if (run === undefined) return undefined;
  return run.status === "created" ? checkThread(run, threadId, "run_id_hint") : refuse(`run_id_hint '${runId}' already exists as a run`);
}

function waitingRun(checkpoint: ThreadCheckpoint | undefined): WaitingRecord | undefined {
  for (const run of [checkpoint?.openRun, checkpoint?.latestRun]) if (run?.status === "waiting") return run;
  return undefined;
}

const isUnfinished = (entry: LedgerEntry): entry is OpenEntry => entry.status !== "finished";

type OpenWork = Pick<ThreadHistory, "messages" | "cutCalls" | "ledger">;

/** What the ledger has open of the run that goes on, and the view with the step that was cut off. */
async function openWork(records: RunRecords, checkpoint: ThreadCheckpoint | undefined, resumed: RunRecord | undefined): Promise<OpenWork> {
  const messages = checkpoint?.messages ?? [];
  if (records.ledger === undefined) return { messages, cutCalls: [], ledger: undefined };
  if (resumed === undefined || resumed.status === "created") return { messages, cutCalls: [], ledger: [] };
  const entries = await records.ledger.list(resumed.runId, { statuses: ["claimed", "suspended"] });
  const ledger = entries.filter(isUnfinished);
  const claims = cutClaims(ledger, checkpoint?.state);
  let work: OpenWork = { messages, cutCalls: [], ledger };
  for (const cut of await cutMessages(records, resumed.threadId, claims)) {
    const { messages: view, cutCalls } = restoreCut(work.messages, cut, resumed.runId);
    work = { messages: view, cutCalls: [...work.cutCalls, ...cutCalls], ledger };
  }
  if (work.cutCalls.length > 0) refuseBusy(checkpoint, resumed);
  return work;
}

/** Results of a step that was cut off would get between the calls of a run that came later and is not over. */
function refuseBusy(checkpoint: ThreadCheckpoint | undefined, resumed: RunRecord): void {
  const other = checkpoint?.openRun;
  if (other === undefined || other.runId === resumed.runId || other.status === "created") return;
  const { threadId, runId } = other;
  const message = `run '${runId}' was started on thread '${threadId}' since and is ${other.status}: finish or cancel it first`;
  throw new AwakenError("thread_already_running", message, { details: { threadId, runId } });
}

async function cutMessages(
  { messages }: Pick<LastingRecords, "messages">,
  threadId: ThreadId,
  claims: readonly LedgerEntry[],
): Promise<readonly CutMessage[]> {
  if (claims.length === 0) return [];
  const logged = await messages.load(threadId, [...new Set(claims.map((claim) => claim.messageId))]);
  const later = logged[0] === undefined ? [] : await rowsAfter(messages, threadId, logged[0].seq);
  return logged.flatMap(({ seq, message }): CutMessage[] => {
    if (message.role !== "assistant") return [];
    const own = claims.filter((claim) => claim.messageId === message.id);
    return [{ seq, message, claims: own, later: later.filter((row) => row.seq > seq) }];
  });
}

async function rowsAfter(messages: LastingRecords["messages"], threadId: ThreadId, seq: number): Promise<readonly SequencedMessage[]> {
  const rows: SequencedMessage[] = [];
  for (let afterSeq: number | undefined = seq; afterSeq !== undefined; ) {
    const page: Page<MessageRecord, number> = await messages.list(threadId, { afterSeq, limit: MAX_LIMIT, visibility: "all" });
    rows.push(...page.items);
    afterSeq = page.next;
  }
  return rows;
}

/**
 * What the records say, and who goes on with what. A run that is named is read before its thread: whoever else takes it up meanwhile has
 * changed the record that this one is compared with when it takes it up.
 */
export async function loadThread(records: RunRecords, order: RunOrder): Promise<LoadedThread> {
  const { threadId, intent } = order;
  const named = intent.type === "resume" ? await namedRun(records, threadId, intent) : undefined;
  const checkpoint = await records.threads.loadCheckpoint(threadId);
  if (named !== undefined && checkpoint?.openRun?.runId === named.runId && !sameJson(checkpoint.openRun, named)) throw takenUp(named);
  const hinted = intent.type === "new" && intent.runId !== undefined ? intent.runId : undefined;
  const resumed = named ?? (hinted === undefined ? waitingRun(checkpoint) : await hintedRun(records, threadId, hinted));
  const work = await openWork(records, checkpoint, resumed);
  const history: ThreadHistory = {
    messageCount: checkpoint?.messageCount ?? 0,
    threadState: checkpoint?.state,
    run: resumed === undefined ? undefined : { state: resumed.state, steps: resumed.steps, usage: resumed.usage },
    ...work,
  };
  const waiting = waitingRun(checkpoint);
  const logged = order.namedMessages.length === 0 ? [] : await records.messages.load(order.threadId, order.namedMessages);
  return {
    history,
    resumed,
    logged: new Set(logged.map(({ message }) => message.id)),
    abandonable: waiting === undefined || waiting.runId === resumed?.runId || waiting.waiting.tickets.length === 0 ? undefined : waiting,
    ...agentsOf(order, checkpoint, resumed, agentOfCut(checkpoint?.state, work.cutCalls)),
  };
}

/** Whoever is asked for by name, acts. Otherwise the thread is with the agent that it was handed to, and a run stays of its own agent. */
function agentsOf(
  { agentId: asked, intent }: RunOrder,
  checkpoint: ThreadCheckpoint | undefined,
  resumed: RunRecord | undefined,
  cutAgent: string | undefined,
): Pick<LoadedThread, "agentId" | "actingAgentId"> {
  if (asked !== undefined) return { agentId: asked, actingAgentId: asked };
  const run = resumed ?? checkpoint?.latestRun;
  const own = run?.agentId.trim() || DEFAULT_AGENT;
  const caller = intent.type === "resume" ? (cutAgent ?? callingAgent(checkpoint?.state)) : undefined;
  const acting = caller ?? storedAgent(checkpoint?.state) ?? storedAgent(run?.state) ?? own;
  return { agentId: resumed === undefined ? acting : own, actingAgentId: acting };
}
