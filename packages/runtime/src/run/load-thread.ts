import {
  AwakenError,
  type PersistedState,
  type RunId,
  type RunRecord,
  type ScopedStore,
  type ThreadCheckpoint,
  type ThreadId,
} from "@awaken/contract";
import { NO_HISTORY, type ThreadHistory } from "../loop/open-run.ts";
import { activeAgent } from "../state/active-agent.ts";
import type { RunIntentInput, RunRequest } from "./run-request.ts";

const DEFAULT_AGENT = "default";

/** What the store knows that a new activation depends on. */
export interface LoadedThread {
  readonly history: ThreadHistory;
  /** The agent that the run is of. */
  readonly agentId: string;
  /** The agent that acts now: another one after a handoff. */
  readonly actingAgentId: string;
  /** The run that goes on, if one does. */
  readonly resumed: RunRecord | undefined;
}

const refuse = (why: string): never => {
  throw new AwakenError("invalid_resume", `invalid resume: ${why}`);
};

function storedAgent(state: PersistedState | undefined): string | undefined {
  const value = state?.extensions[activeAgent.name];
  return typeof value === "string" && value.trim() !== "" ? value : undefined;
}

function agentOf(request: RunRequest, checkpoint: ThreadCheckpoint | undefined): string {
  const latest = checkpoint?.latestRun;
  return request.agent ?? storedAgent(checkpoint?.state) ?? storedAgent(latest?.state) ?? (latest?.agentId.trim() || DEFAULT_AGENT);
}

async function explicitRun(store: ScopedStore, threadId: ThreadId, runId: RunId): Promise<RunRecord> {
  const run = await store.runs.load(runId);
  if (run === undefined) return refuse(`continue_run_id '${runId}' does not reference an existing run`);
  if (run.threadId !== threadId) refuse(`run '${runId}' belongs to thread '${run.threadId}' but activation targets thread '${threadId}'`);
  if (run.status === "done") refuse(`run '${runId}' is done`);
  return run;
}

/** The run that this activation continues: the one that is named, or the one that the thread waits with. */
async function resumedRun(store: ScopedStore, threadId: ThreadId, intent: RunIntentInput, checkpoint: ThreadCheckpoint | undefined) {
  if (intent.type === "resume") return explicitRun(store, threadId, intent.runId);
  if (intent.runId !== undefined) {
    const known = await store.runs.load(intent.runId);
    if (known !== undefined && known.status !== "created") refuse(`run_id_hint '${intent.runId}' already exists as a run`);
    return known;
  }
  const waiting = [checkpoint?.openRun, checkpoint?.latestRun].find((run) => run?.status === "waiting");
  return waiting;
}

/** One consistent read of the thread, and who goes on with what. Without a store there is nothing to know. */
export async function loadThread(
  store: ScopedStore | undefined,
  threadId: ThreadId,
  request: RunRequest,
  intent: RunIntentInput,
): Promise<LoadedThread> {
  if (store === undefined) {
    if (intent.type === "resume") refuse(`continue_run_id '${intent.runId}' requires run storage`);
    const agentId = request.agent ?? DEFAULT_AGENT;
    return { history: NO_HISTORY, agentId, actingAgentId: agentId, resumed: undefined };
  }
  const checkpoint = await store.threads.loadCheckpoint(threadId);
  const resumed = await resumedRun(store, threadId, intent, checkpoint);
  const history: ThreadHistory = {
    messages: checkpoint?.messages ?? [],
    messageCount: checkpoint?.messageCount ?? 0,
    threadState: checkpoint?.state,
    run: resumed === undefined ? undefined : { state: resumed.state, steps: resumed.steps, usage: resumed.usage },
  };
  const agentId = resumed?.agentId ?? agentOf(request, checkpoint);
  const handedTo = resumed === undefined ? undefined : storedAgent(checkpoint?.state);
  return { history, agentId, actingAgentId: handedTo ?? agentId, resumed };
}
