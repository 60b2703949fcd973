import { type AgentEvent, AwakenError, freezeMade, isStoredEvent, type Log, messageId, NO_USAGE, type ToolMessage } from "@awaken/contract";
import { RunWriter } from "../commit/run-writer.ts";
import { seldom as commitSeldom } from "../commit/seldom-door.ts";
import { Tally } from "../commit/tally.ts";
import { Transcript } from "../commit/transcript.ts";
import { command } from "../phase/command.ts";
import { PhaseEngine } from "../phase/engine.ts";
import { activeAgent } from "../state/active-agent.ts";
import { RunState } from "../state/run-state.ts";
import type { Incoming } from "./accepted-input.ts";
import type { Activation, RunHandles, RunWriting } from "./activation.ts";
import { seatAgent } from "./handoff.ts";
import { lastWords } from "./messages.ts";
import type { Emitter, RunContext, Teller } from "./run-context.ts";
import type { RunTasks } from "./run-tasks.ts";
import { StepProgress } from "./step-progress.ts";
import { isSuperseding, supersede } from "./supersede.ts";

/** A fresh store: thread keys come back always, run keys only when the same run goes on. */
function openState(activation: Activation, log: Log): RunState {
  const { plan, history, reading, seed } = activation;
  const state = new RunState(log, plan.slots);
  if (history.run?.state !== undefined) state.restore(history.run.state, "skip", reading);
  if (history.threadState !== undefined) state.restoreThread(history.threadState, "skip", reading);
  // Whoever asks for an agent by name takes the thread back from the one that it was handed to.
  const seated = state.get(activeAgent);
  const isAsked = !activation.isContinuation || isSuperseding(activation);
  if (isAsked && typeof seated === "string" && seated !== plan.agent.id) state.commit(command().update(activeAgent, plan.agent.id));
  // With the first commit: whoever goes on with the run has it too.
  if (seed !== undefined) state.seed(seed);
  return state;
}

function openTranscript({ history, input }: Activation, given: readonly ToolMessage[]): Transcript {
  const rowOf = (message: ToolMessage, index: number) => ({ seq: history.messageCount + 1 + index, message });
  const view = given.length === 0 ? history.messages : commitSeldom.here.effectiveMessages([...history.messages, ...given.map(rowOf)]);
  const transcript = new Transcript(view);
  // For the log alone: the view was made without what they retract.
  for (const message of given) transcript.add(message);
  for (const message of input) transcript.append(message);
  return transcript;
}

/** Events hold what records, state and transcript hold, and listeners are the code of others. */
function tell(this: Teller, event: AgentEvent): void {
  if (!this.listeners.isAttended) return;
  freezeMade(event);
  this.listeners.tell(event);
}

/** Facts are staged for the next commit as they are told; what only a live listener needs is not. What comes in pieces is never a fact, and holds nothing. */
function emit(this: Emitter, event: AgentEvent): void {
  switch (event.type) {
    case "text-delta":
    case "reasoning-delta":
    case "tool-call-delta":
    case "tool-call-stream-delta":
      this.listeners.tell(event);
      return;
    default:
  }
  if (isStoredEvent(event.type)) {
    this.writer.stage(event);
    if (event.type === "stream-reset" || event.type === "tool-call-cancel") this.progress.note(event);
  }
  this.tell(event);
}

const incomingOf = ({ input, inputModes, isContinuation }: Activation): readonly Incoming[] =>
  input.map((message) => ({ message, mode: inputModes?.get(message.id) ?? (isContinuation ? "resume" : "start") }));

/** What is made with the rest at hand comes last. */
interface Opened extends Omit<RunContext, "tasks"> {
  tasks: RunTasks | undefined;
}

const hasTasks = (ctx: Opened): ctx is Opened & RunContext => ctx.tasks !== undefined;

/** Most runs have none of this and that: an empty list is 32 bytes. */
const NONE: readonly never[] = Object.freeze([]);

const NOTHING_COUNTED = { steps: 0, usage: NO_USAGE, usageByModel: [] };

/** Everything that a run needs, before it begins: nothing is emitted and nothing is written here. */
export function openRun(activation: Activation, handles: RunHandles, writing: RunWriting): RunContext {
  const { identity, principal, options, checkOutput, isContinuation, plan, history } = activation;
  const { landing, ledger } = writing;
  const state = openState(activation, handles.log);
  const transcript = openTranscript(activation, supersede(activation, handles, state, writing));
  const tally = new Tally(history.run?.counted ?? { ...NOTHING_COUNTED, answerId: messageId(handles.ids()) });
  if (isContinuation) tally.response = lastWords(history.messages, identity.runId);
  const { scopeId, signal, clock, bounds, ids, log, listeners, inbox, profileStore, plans } = handles;
  const written = { landing, identity, state, transcript, tally, ledger, listeners, tell };
  const active = seatAgent({ options, scopeId, identity, principal, transcript, signal, clock, profileStore }, plan);
  const ctx: Opened = {
    scopeId,
    identity,
    principal,
    options,
    checkOutput,
    isContinuation,
    retry: activation.retry,
    cancelGraceMs: handles.cancelGraceMs,
    active,
    state,
    phases: new PhaseEngine({ store: state, table: plan.env, seat: active, log, bounds }),
    transcript,
    writer: new RunWriter(written),
    landing,
    ledger,
    cutCalls: history.cutCalls,
    tally,
    progress: new StepProgress(),
    inbox,
    desk: { isClosed: false, taking: undefined, untold: NONE, early: NONE },
    input: incomingOf(activation),
    firstInput: activation.input[0]?.id,
    seed: activation.seed,
    signal,
    clock,
    bounds,
    ids,
    madeMessages: undefined,
    log,
    profileStore,
    streams: handles.streams,
    wayOut: handles.wayOut,
    seldom: handles.seldom,
    plans,
    children: handles.children,
    tasks: undefined,
    tell,
    emit,
    listeners,
  };
  ctx.tasks = handles.tasks(ctx);
  if (hasTasks(ctx)) return ctx;
  throw new AwakenError("internal", "a run without tasks");
}
