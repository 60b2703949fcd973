import type { Message, MessageId, PersistedState, RunId, RunRecord, ScopeId, ThreadId } from "@awaken/contract";
import type { ThreadHead } from "@awaken/contract/store";
import type { RunLedger } from "../../commit/run-ledger.ts";
import { seldom as commitSeldom } from "../../commit/seldom-door.ts";
import { activeAgent } from "../../state/active-agent.ts";
import { schemas } from "../../state/late-schema.ts";
import { isPlainState } from "../../state/plain-state.ts";
import { storedCalls } from "../../state/tool-call-states.ts";
import { type Door, type Late, whenThere } from "../../stream/door.ts";
import type { ThreadHistory } from "../activation.ts";
import type { OpenRunRecord } from "../end-news.ts";
import { isOpenCall } from "../open-calls.ts";
import type { RunOrder } from "../run-order.ts";
import type { RunRecords } from "../run-records.ts";
import type { ResumeIntent } from "./named-run.ts";
import { noWork } from "./open-work.ts";
import type { Recalled } from "./recall.ts";

/** What the records say that a new activation depends on. */
export interface LoadedThread {
  readonly history: ThreadHistory;
  /** The agent that the run is of. */
  readonly agentId: string;
  /** The agent that acts now: another one after a handoff. */
  readonly actingAgentId: string;
  /** Messages of the request that are not in the log already. */
  readonly input: readonly Message[];
  /** All of them, by the ids that they have there. */
  readonly inputIds: readonly MessageId[];
  /** The run that goes on, if one does. */
  readonly resumed: RunRecord | undefined;
  /** What its record says of it. */
  readonly recalled: Recalled | undefined;
  /**
   * A run that is not over and is not the one that goes on, when a new one is asked for: it was cut off, or it waits, and a new user
   * message leaves it nothing to wait for. A thread has one run that waits: what it waits for is kept with the thread.
   */
  readonly left: OpenRunRecord | undefined;
  /** When the latest run of the thread changed last; 0 without one. */
  readonly latestAt: number;
  /** Undefined: no effects are kept. */
  readonly openLedger: ((runId: RunId, scopeId: ScopeId) => RunLedger) | undefined;
}

type WaitingRecord = Extract<RunRecord, { status: "waiting" }>;

function storedAgent(state: PersistedState | undefined): string | undefined {
  const value = state?.extensions[activeAgent.name];
  return typeof value === "string" && value.trim() !== "" ? value : undefined;
}

/** The record that a new run is for, if there is one. */
function askedRun(
  records: RunRecords,
  { threadId, intent, found }: RunOrder,
  head: ThreadHead | undefined,
  seldom: Door<ThreadRoom>,
): Late<RunRecord | undefined> {
  if (intent.type === "resume" || intent.runId === undefined) return waitingRun(head);
  const isAbsent = found === undefined ? intent.isUnseen === true && head === undefined : found.run === undefined;
  const { runId, created } = intent;
  return isAbsent ? undefined : whenThere(seldom.open(), ({ hintedRun }) => hintedRun(records, threadId, runId, created));
}

function waitingRun(head: ThreadHead | undefined): WaitingRecord | undefined {
  if (head === undefined) return undefined;
  for (const run of [head.openRun, head.latestRun]) if (run?.status === "waiting") return run;
  return undefined;
}

/** Nobody of this process executes it: the thread is taken by whoever asks. */
function leftRun(head: ThreadHead | undefined, resumed: RunRecord | undefined): OpenRunRecord | undefined {
  for (const run of [head?.openRun, head?.latestRun]) {
    if (run === undefined || run.runId === resumed?.runId) continue;
    if (run.status === "running" || run.status === "waiting") return run;
  }
  return undefined;
}

/** What was found about a thread. */
interface FoundThread {
  readonly head: ThreadHead | undefined;
  readonly resumed: RunRecord | undefined;
  readonly recalled: Recalled | undefined;
  readonly given: Given;
}

/** Nobody has used an id that was made for the thread: there is nothing to read. */
const isUnused = ({ intent, isNewThread, seed, trace }: RunOrder): boolean =>
  isNewThread === true && (intent.runId ?? seed ?? trace.parentThreadId) === undefined;

/** What the records say, and who goes on with what. */
export function loadThread(records: RunRecords, order: RunOrder, defaultAgent: string, seldom: Door<ThreadRoom>): Late<LoadedThread> {
  const reading = isUnused(order)
    ? { head: undefined, resumed: undefined, recalled: undefined, given: asGiven(order) }
    : readThread(records, order, seldom);
  return whenThere(reading, (found) => {
    const loaded = loadedFrom(records, order, defaultAgent, found);
    const isWhole = loaded.openLedger === undefined || commitSeldom.room !== undefined;
    return isWhole ? loaded : whenThere(commitSeldom.open(), () => loaded);
  });
}

/**
 * A run that is named is read before its thread: whoever else takes it up meanwhile has changed the record that this one is compared with
 * when it takes it up.
 */
async function readThread(records: RunRecords, order: RunOrder, seldom: Door<ThreadRoom>): Promise<FoundThread> {
  const { intent, found } = order;
  const { parentThreadId } = order.trace;
  if (intent.type === "new" && parentThreadId !== undefined && order.isAwaited !== true)
    await (await seldom.open()).checkParent(records, parentThreadId);
  const named = intent.type === "resume" ? await (await seldom.open()).namedRun(records, order, intent) : undefined;
  const head = found === undefined ? await loadHead(records, order) : found.head;
  if (named !== undefined && found === undefined) await (await seldom.open()).checkStands(records, head, named);
  const resumed = named ?? (await askedRun(records, order, head, seldom));
  if (order.seed !== undefined || (head?.state !== undefined && !isPlainState(head.state))) await schemas.open();
  // Calls that wait, which it goes on with or abandons.
  if (storedCalls(head?.state).some(isOpenCall)) await seldom.open();
  const recalled = resumed && (await (await seldom.open()).recall(records, head, resumed));
  const isNamed = head !== undefined && order.namedMessages.length > 0;
  const given = isNamed ? await (await seldom.open()).findNamed(records, order, head) : asGiven(order);
  return { head, resumed, recalled, given };
}

/** Undefined where nobody can have written yet. */
function loadHead({ threads }: RunRecords, { threadId, intent, isNewThread }: RunOrder): Late<ThreadHead | undefined> {
  return intent.type === "new" && isNewThread === true ? undefined : threads.loadHead(threadId);
}

function loadedFrom(records: RunRecords, order: RunOrder, defaultAgent: string, found: FoundThread): LoadedThread {
  const { head, resumed, recalled, given } = found;
  const { intent } = order;
  const { messages, cutCalls, ledger } = recalled?.work ?? noWork(records, head);
  const caller = intent.type === "resume" ? recalled?.caller : undefined;
  const { agentId, actingAgentId } = agentsOf(order, head, resumed, { defaultAgent, caller });
  return {
    history: {
      messages,
      messageCount: head?.messageCount ?? 0,
      threadState: head?.state,
      run: recalled?.run,
      cutCalls,
      ledger,
    },
    agentId,
    actingAgentId,
    input: given.input,
    inputIds: given.inputIds,
    resumed,
    recalled,
    left: intent.type === "new" ? leftRun(head, resumed) : undefined,
    latestAt: head?.latestRun?.updatedAt ?? 0,
    openLedger: ledger && ((runId, scopeId) => new commitSeldom.here.RunLedger({ runId, scopeId }, ledger)),
  };
}

/** What is loaded for runs that go on, and for requests that name a run or messages. */
export interface ThreadRoom {
  findNamed(records: RunRecords, order: RunOrder, head: ThreadHead): Promise<Given>;
  namedRun(records: RunRecords, order: RunOrder, intent: ResumeIntent): Promise<RunRecord>;
  checkStands(records: RunRecords, head: ThreadHead | undefined, named: RunRecord): Promise<void>;
  hintedRun(records: RunRecords, threadId: ThreadId, runId: RunId, created: RunRecord | undefined): Promise<RunRecord | undefined>;
  checkParent(records: RunRecords, id: ThreadId): Promise<void>;
  recall(records: RunRecords, head: ThreadHead | undefined, run: RunRecord): Promise<Recalled>;
}

/** The messages of a request, of which its thread may have some already. */
export type Given = Pick<LoadedThread, "input" | "inputIds">;

const asGiven = ({ input }: RunOrder): Given => ({ input, inputIds: input.map(({ id }) => id) });

/** Whoever is asked for by name, acts. Otherwise the thread is with the agent that it was handed to, and a run stays of its own agent. */
function agentsOf(
  { agentId: asked }: RunOrder,
  head: ThreadHead | undefined,
  resumed: RunRecord | undefined,
  { defaultAgent, caller }: { readonly defaultAgent: string; readonly caller: string | undefined },
): Pick<LoadedThread, "agentId" | "actingAgentId"> {
  if (asked !== undefined) return { agentId: asked, actingAgentId: asked };
  const run = resumed ?? head?.latestRun;
  const own = run?.agentId.trim() || defaultAgent;
  const acting = caller ?? storedAgent(head?.state) ?? storedAgent(run?.state) ?? own;
  return { agentId: resumed === undefined ? acting : own, actingAgentId: acting };
}
