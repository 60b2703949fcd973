import {
  type AgentEvent,
  EVENT_TABLE,
  type Log,
  type Message,
  messageId,
  NO_USAGE,
  type PersistedState,
  type RunIdentity,
  type ToolCallState,
  type ToolMessage,
} from "@awaken/contract";
import { effectiveMessages, type ProfileStore, type SequencedMessage, type StreamCheckpointStore } from "@awaken/contract/store";
import { type OpenEntry, RunLedger } from "../commit/run-ledger.ts";
import { type Counted, Tally } from "../commit/tally.ts";
import { Transcript } from "../commit/transcript.ts";
import { failedActions, pendingActions } from "../phase/action-queue.ts";
import { command } from "../phase/command.ts";
import { PhaseEngine } from "../phase/engine.ts";
import type { Env } from "../plugin/env.ts";
import type { InboxItem } from "../plugin/inbox.ts";
import { activeAgent } from "../state/active-agent.ts";
import type { AnyStateKey } from "../state/key.ts";
import { pendingWork } from "../state/pending-work.ts";
import type { Reading } from "../state/persist.ts";
import { runLifecycle } from "../state/run-lifecycle.ts";
import { type SlotTable, slotTable } from "../state/snapshot.ts";
import { StateStore } from "../state/store.ts";
import { toolCallStates } from "../state/tool-call-states.ts";
import { Bounds, DEFAULT_LIMITS } from "../stream/bounds.ts";
import type { Clock } from "../stream/clock.ts";
import type { Ids } from "../stream/ids.ts";
import type { Listeners } from "../stream/listeners.ts";
import type { Queue } from "../stream/queue.ts";
import { toolFailure } from "../tool/execute.ts";
import type { AddressedDecision } from "./addressed-decision.ts";
import { type CheckpointPort, type Checkpoints, createCheckpoints } from "./commit.ts";
import { closedTicket, decided } from "./decided.ts";
import { seatAgent } from "./handoff.ts";
import type { LiveCall } from "./live-call.ts";
import { isOutcomeLost, lostResult } from "./lost-call.ts";
import { lastWords, lateResult, retraction, SUPERSEDED } from "./messages.ts";
import { outputRetries } from "./output.ts";
import type { Boundary } from "./pending-port.ts";
import type { RunContext, RunOptions } from "./run-context.ts";
import type { RunPlan } from "./run-plan.ts";

/** What the thread's records say. */
export interface ThreadHistory {
  /** The effective view. */
  readonly messages: readonly SequencedMessage[];
  /** Rows in the raw log. */
  readonly messageCount: number;
  readonly threadState: PersistedState | undefined;
  /** Of the same run, when it goes on. */
  readonly run: { readonly state: PersistedState | undefined; readonly counted: Counted } | undefined;
  /** Calls of a step that was cut off; their message is in the view. */
  readonly cutCalls: readonly LiveCall[];
  /** What the effect ledger has open of the run. Undefined when none is kept. */
  readonly ledger: readonly OpenEntry[] | undefined;
}

export const NO_HISTORY: ThreadHistory = {
  messages: [],
  messageCount: 0,
  threadState: undefined,
  run: undefined,
  cutCalls: [],
  ledger: undefined,
};

/** What to run, as data. */
export interface Activation {
  readonly identity: RunIdentity;
  readonly plan: RunPlan;
  readonly history: ThreadHistory;
  /** New messages. Those that are in the log already belong into the history instead. */
  readonly input: readonly Message[];
  readonly options: RunOptions;
  /** Default: each key decides about a stored value that does not fit it. */
  readonly reading?: Reading;
}

/** What it runs with: live objects of this process. */
export interface RunHandles {
  readonly signal: AbortSignal;
  readonly clock: Clock;
  /** Default: the default limits. */
  readonly bounds?: Bounds;
  readonly ids: Ids;
  readonly log: Log;
  /** While nobody listens, no event is made that only a listener would read. */
  readonly listeners: Listeners<AgentEvent>;
  readonly inbox: Queue<InboxItem>;
  readonly decisions: Queue<readonly AddressedDecision[]>;
  readonly boundary: Boundary;
  readonly checkpoints: CheckpointPort | undefined;
  readonly profileStore: ProfileStore | undefined;
  readonly streams?: StreamCheckpointStore | undefined;
  readonly replan: (agentId: string) => Promise<RunPlan>;
}

const LOOP_KEYS: readonly AnyStateKey[] = [
  runLifecycle,
  toolCallStates,
  decided,
  activeAgent,
  pendingWork,
  outputRetries,
  pendingActions,
  failedActions,
];

/** Every run of a plan has the same keys. */
const tables = new WeakMap<Env, SlotTable>();

function tableOf(env: Env): SlotTable {
  const known = tables.get(env);
  if (known !== undefined) return known;
  const table = slotTable([...LOOP_KEYS, ...env.stateKeys]);
  tables.set(env, table);
  return table;
}

/** A fresh store: thread keys come back always, run keys only when the same run goes on. */
function openState(activation: Activation, log: Log): StateStore {
  const { plan, history, reading } = activation;
  const state = new StateStore(log, tableOf(plan.env));
  if (history.run?.state !== undefined) state.restore(history.run.state, "skip", reading);
  if (history.threadState !== undefined) state.restoreThread(history.threadState, "skip", reading);
  // Whoever asks for an agent by name takes the thread back from the one that it was handed to.
  const seated = state.snapshot().get(activeAgent);
  const isAsked = !activation.options.isContinuation || isSuperseding(activation);
  if (isAsked && typeof seated === "string" && seated !== plan.agent.id) state.commit(command().update(activeAgent, plan.agent.id));
  return state;
}

const isUserInput = (message: Message): boolean => message.role === "user" && message.visibility !== "internal";

/** Whether calls that wait are abandoned by this activation. */
export const isSuperseding = ({ options, input }: Activation): boolean => options.seededDecisions.length === 0 && input.some(isUserInput);

/** Calls that wait, those behind them, and those whose decision was taken by a process that died before it could follow it. */
const isOpen = (call: ToolCallState): boolean => call.status === "suspended" || call.status === "resuming" || call.status === "new";

/**
 * A new user message without a decision abandons the calls that wait: nothing is replayed. What never began is retracted; what may have
 * had its effect stays in view and says so, and its row in the ledger stays open for whoever finds out. Their tickets are closed.
 */
function supersede(activation: Activation, handles: RunHandles, state: StateStore, ledger: RunLedger | undefined): readonly ToolMessage[] {
  const calls = (state.snapshot().get(toolCallStates)?.calls ?? []).filter(isOpen);
  const closing = activation.input.find(isUserInput);
  if (calls.length === 0 || closing === undefined || !isSuperseding(activation)) return NO_MESSAGES;
  const change = command().update(toolCallStates, { type: "clear" });
  if (activation.options.isContinuation) {
    for (const ticket of calls.flatMap((call) => closedTicket(call, closing.id))) change.update(decided, { type: "closed", ticket });
  }
  state.commit(change);
  const run = { ids: handles.ids, identity: activation.identity, tally: { steps: activation.history.run?.counted.steps ?? 0 } };
  return calls.map((call) => {
    const asked = { messageId: call.messageId, call };
    if (isOutcomeLost(ledger, call)) {
      ledger?.leaveOpen(asked);
      return lateResult(run, call, lostResult(call.name));
    }
    ledger?.settle(asked, toolFailure("cancelled", SUPERSEDED));
    return retraction(run, call);
  });
}

function openTranscript({ history, input }: Activation, given: readonly ToolMessage[]): Transcript {
  const log = given.map((message, index) => ({ seq: history.messageCount + 1 + index, message }));
  const transcript = new Transcript(log.length === 0 ? history.messages : effectiveMessages([...history.messages, ...log]));
  for (const message of given) transcript.retract(message);
  for (const message of input) transcript.append(message);
  return transcript;
}

const NO_MESSAGES: readonly ToolMessage[] = Object.freeze([]);

/** Facts are staged for the next commit as they are told; what only a live listener needs is not. */
function emitter(tell: (event: AgentEvent) => void, checkpoints: Checkpoints): (event: AgentEvent) => void {
  if (!checkpoints.isDurable) return tell;
  return (event) => {
    // By far the most of them, and never a fact.
    if (event.type !== "text-delta" && EVENT_TABLE[event.type].isStored) checkpoints.stage(event);
    tell(event);
  };
}

/** Everything that a run needs, before it begins: nothing is emitted and nothing is written here. */
export function openRun(activation: Activation, handles: RunHandles): RunContext {
  const { identity, options, plan, history } = activation;
  const state = openState(activation, handles.log);
  const ledger = history.ledger === undefined ? undefined : new RunLedger(identity.runId, history.ledger);
  const transcript = openTranscript(activation, supersede(activation, handles, state, ledger));
  const tally = new Tally(history.run?.counted ?? { steps: 0, usage: NO_USAGE, usageByModel: [], answerId: messageId(handles.ids()) });
  if (options.isContinuation) tally.response = lastWords(history.messages, identity.runId);
  const { signal, clock, ids, log, listeners, inbox, decisions, boundary, profileStore, replan } = handles;
  const tell = listeners.tell.bind(listeners);
  const checkpoints = createCheckpoints({ port: handles.checkpoints, identity, state, transcript, tally, ledger, tell });
  const bounds = handles.bounds ?? new Bounds({ signal, clock, limits: DEFAULT_LIMITS, graceMs: options.cancelGraceMs });
  const active = seatAgent({ options, identity, transcript, signal, clock, profileStore }, plan);
  return {
    identity,
    options,
    active,
    state,
    phases: new PhaseEngine({ store: state, table: plan.env, scene: () => active.scene, log, bounds }),
    transcript,
    checkpoints,
    ledger,
    cutCalls: history.cutCalls,
    tally,
    inbox,
    decisions,
    desk: { isClosed: false, taking: undefined, untold: [] },
    input: activation.input,
    boundary,
    signal,
    clock,
    bounds,
    ids,
    log,
    profileStore,
    streams: handles.streams,
    replan,
    tell,
    emit: emitter(tell, checkpoints),
    emitSnapshot() {
      if (listeners.isHeard) tell({ type: "state-snapshot", snapshot: state.export("shared") });
    },
  };
}
