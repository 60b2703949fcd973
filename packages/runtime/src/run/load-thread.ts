import {
  AwakenError,
  type LedgerEntry,
  type MessageId,
  type PersistedState,
  type RunId,
  type RunRecord,
  sameJson,
  type ThreadCheckpoint,
  type ThreadId,
  toolCallStatesSchema,
  validateSync,
} from "@awaken/contract";
import type { OpenEntry } from "../loop/effects.ts";
import type { ThreadHistory } from "../loop/open-run.ts";
import { activeAgent } from "../state/active-agent.ts";
import { toolCallStates } from "../state/tool-call-states.ts";
import { cutClaims, restoreCut } from "./cut-step.ts";
import type { RunRecords } from "./run-parts.ts";
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
function callingAgent(state: PersistedState | undefined): string | undefined {
  const stored = validateSync(toolCallStatesSchema, state?.extensions[toolCallStates.name]);
  if (stored.type === "invalid") return undefined;
  return stored.value.calls.find((call) => call.status === "suspended" || call.status === "resuming")?.agentId;
}

function checkThread(run: RunRecord, threadId: ThreadId, role: string): RunRecord {
  if (run.threadId === threadId) return run;
  return refuse(`${role} '${run.runId}' belongs to thread '${run.threadId}' but activation targets thread '${threadId}'`);
}

async function namedRun(records: RunRecords, threadId: ThreadId, { runId, seen }: ResumeIntent): Promise<RunRecord> {
  const run = await records.runs.load(runId);
  if (run === undefined) return refuse(`continue_run_id '${runId}' does not reference an existing run`);
  if (seen !== undefined && !sameJson(run, seen)) {
    const message = `run '${runId}' of thread '${threadId}' was taken up by somebody else`;
    throw new AwakenError("thread_already_running", message, { details: { threadId, runId } });
  }
  return checkThread(run, threadId, "continue_run_id").status === "done" ? refuse(`run '${runId}' is done`) : run;
}

async function hintedRun(records: RunRecords, threadId: ThreadId, runId: RunId): Promise<RunRecord | undefined> {
  const run = await records.runs.load(runId);
  if (run === undefined) return undefined;
  return run.status === "created" ? checkThread(run, threadId, "run_id_hint") : refuse(`run_id_hint '${runId}' already exists as a run`);
}

/** The run that this activation continues: the one that is named, or the one that the thread waits with. */
function resumedRun(records: RunRecords, { threadId, intent }: RunOrder, checkpoint: ThreadCheckpoint | undefined) {
  if (intent.type === "resume") return namedRun(records, threadId, intent);
  if (intent.runId !== undefined) return hintedRun(records, threadId, intent.runId);
  return waitingRun(checkpoint);
}

function waitingRun(checkpoint: ThreadCheckpoint | undefined): WaitingRecord | undefined {
  for (const run of [checkpoint?.openRun, checkpoint?.latestRun]) if (run?.status === "waiting") return run;
  return undefined;
}

const isUnfinished = (entry: LedgerEntry): entry is OpenEntry => entry.status !== "finished";

/** What the ledger has open of the run that goes on, and the view with the step that was cut off. */
async function openWork(
  records: RunRecords,
  checkpoint: ThreadCheckpoint | undefined,
  resumed: RunRecord | undefined,
): Promise<Pick<ThreadHistory, "messages" | "cutCalls" | "ledger">> {
  const messages = checkpoint?.messages ?? [];
  if (records.ledger === undefined || resumed === undefined || resumed.status === "created") {
    return { messages, cutCalls: [], ledger: records.ledger === undefined ? undefined : [] };
  }
  const entries = await records.ledger.list(resumed.runId, { statuses: ["claimed", "suspended"] });
  const ledger = entries.filter(isUnfinished);
  const claims = cutClaims(ledger, checkpoint?.state);
  const [claim] = claims;
  const [logged] = claim === undefined ? [] : await records.messages.load(resumed.threadId, [claim.messageId]);
  if (logged === undefined) return { messages, cutCalls: [], ledger };
  return { ...restoreCut(messages, logged, claims, checkpoint?.latestRun?.runId !== resumed.runId), ledger };
}

/** One consistent read of the thread, and who goes on with what. */
export async function loadThread(records: RunRecords, order: RunOrder): Promise<LoadedThread> {
  const checkpoint = await records.threads.loadCheckpoint(order.threadId);
  const resumed = await resumedRun(records, order, checkpoint);
  const history: ThreadHistory = {
    messageCount: checkpoint?.messageCount ?? 0,
    threadState: checkpoint?.state,
    run: resumed === undefined ? undefined : { state: resumed.state, steps: resumed.steps, usage: resumed.usage },
    ...(await openWork(records, checkpoint, resumed)),
  };
  const waiting = waitingRun(checkpoint);
  const logged = order.namedMessages.length === 0 ? [] : await records.messages.load(order.threadId, order.namedMessages);
  return {
    history,
    resumed,
    logged: new Set(logged.map(({ message }) => message.id)),
    abandonable: waiting === undefined || waiting.runId === resumed?.runId || waiting.waiting.tickets.length === 0 ? undefined : waiting,
    ...agentsOf(order, checkpoint, resumed),
  };
}

/** Whoever is asked for by name, acts. Otherwise the thread is with the agent that it was handed to, and a run stays of its own agent. */
function agentsOf(
  { agentId: asked, intent }: RunOrder,
  checkpoint: ThreadCheckpoint | undefined,
  resumed: RunRecord | undefined,
): Pick<LoadedThread, "agentId" | "actingAgentId"> {
  if (asked !== undefined) return { agentId: asked, actingAgentId: asked };
  const run = resumed ?? checkpoint?.latestRun;
  const own = run?.agentId.trim() || DEFAULT_AGENT;
  const caller = intent.type === "resume" ? callingAgent(checkpoint?.state) : undefined;
  const acting = caller ?? storedAgent(checkpoint?.state) ?? storedAgent(run?.state) ?? own;
  return { agentId: resumed === undefined ? acting : own, actingAgentId: acting };
}
