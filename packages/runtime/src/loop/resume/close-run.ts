import {
  type AgentEvent,
  isToolCallOver,
  type MessageId,
  messageText,
  type PersistedState,
  runIdentity,
  type ToolCallState,
  type ToolResult,
} from "@awaken/contract";
import type { SaidAll } from "../../commit/ended-record.ts";
import type { Landing } from "../../commit/land.ts";
import { type OpenEntry, RunLedger } from "../../commit/run-ledger.ts";
import { closedTicket } from "../../state/closed-ticket.ts";
import { storedCalls, toolCallStates } from "../../state/tool-call-states.ts";
import { toolFailure } from "../../tool/execute.ts";
import type { RunHandles } from "../activation.ts";
import { callResumed } from "../call-resumed.ts";
import { lateResult } from "../closing-messages.ts";
import { editOf } from "../decided-calls.ts";
import { resumedWith } from "../decisions/replay-decided.ts";
import type { CallEnding } from "../earlier-call.ts";
import { endNews, type OpenRunRecord, type RunEnd } from "../end-news.ts";
import type { LiveCall } from "../live-call.ts";
import { closeCall } from "../lost-call.ts";
import type { RunContext } from "../run-context.ts";
import { UNKNOWN_OUTCOME } from "../unknown-call.ts";
import { knownResult } from "../unknown-outcome.ts";
import type { LoadedThread } from "./load-thread.ts";

export interface LeftScene {
  readonly loaded: LoadedThread;
  readonly landing: Landing;
  readonly ctx: RunContext | undefined;
  /** The message that closes it. */
  readonly by: MessageId;
}

/** How what is written is named and dated. */
type ClosingParts = Pick<RunHandles, "scopeId" | "ids" | "clock">;

/** A call that may have had its effect, and what is known of it. */
interface StartedCall {
  readonly live: LiveCall;
  readonly entry: OpenEntry;
  readonly state: ToolCallState | undefined;
}

interface ClosedCall extends StartedCall {
  readonly result: ToolResult;
}

/** A call that was decided, as it would be resumed. */
function decidedCall({ messageId, toolCallId, toolName, input }: OpenEntry, state: ToolCallState | undefined): LiveCall {
  const edited = state === undefined ? undefined : editOf(state);
  return {
    call: { id: toolCallId, name: toolName, input },
    messageId,
    resume: state === undefined ? undefined : resumedWith(state),
    isReplay: true,
    ...(edited === undefined ? {} : { edited }),
  };
}

/** One that waits, was decided, or stood behind one that waited: each of these may have been under way. */
const isOpen = ({ status }: ToolCallState): boolean => !isToolCallOver(status);

const isAsked = (entry: OpenEntry): boolean => entry.status === "suspended" && entry.result.suspension.action === UNKNOWN_OUTCOME;

function startedCalls({ history }: LoadedThread, states: readonly ToolCallState[]): readonly StartedCall[] {
  const open = states.filter(isOpen);
  return (history.ledger ?? []).flatMap((entry): StartedCall[] => {
    const isOfEntry = (messageId: MessageId, id: string) => messageId === entry.messageId && id === entry.toolCallId;
    const state = open.find((call) => isOfEntry(call.messageId, call.id));
    const cut = history.cutCalls.find((live) => isOfEntry(live.messageId, live.call.id));
    const isStarted = entry.status === "claimed" ? state !== undefined || cut !== undefined : state !== undefined && isAsked(entry);
    return isStarted ? [{ entry, state, live: cut ?? decidedCall(entry, state) }] : [];
  });
}

/** A person's word stands, when there is one that needs nothing to run; else the tool is asked. It is not run again: nobody waits for it. */
async function findOut(ctx: RunContext | undefined, { live, entry, state }: StartedCall): Promise<ToolResult | undefined> {
  const decision = isAsked(entry) ? state?.decision : undefined;
  if (decision?.action === "answer") return { type: "success", data: decision.result };
  if (decision?.action === "deny") return toolFailure("denied", decision.reason ?? "the call was not approved", { rejected: true });
  return ctx === undefined || entry.status !== "claimed" ? undefined : knownResult(ctx, live);
}

/** The thread's state without these calls. Those that never began are left for the run that comes, which retracts them. */
function stateWithout(
  state: PersistedState | undefined,
  states: readonly ToolCallState[],
  closed: readonly ClosedCall[],
): PersistedState | undefined {
  if (state === undefined) return undefined;
  const isClosed = ({ messageId, id }: ToolCallState) => closed.some(({ live }) => live.messageId === messageId && live.call.id === id);
  const left = states.filter((call) => !isClosed(call));
  return left.length === states.length ? state : { ...state, extensions: { ...state.extensions, [toolCallStates.name]: { calls: left } } };
}

/** A person's no is told as such. */
const endingOf = ({ entry, state, result }: ClosedCall): CallEnding =>
  isAsked(entry) && state?.decision?.action === "deny" ? { type: "denied", reason: state.decision.reason } : result;

const factsOf = (closed: readonly ClosedCall[]): readonly AgentEvent[] =>
  closed.map((each) => {
    const { call, messageId } = each.live;
    return callResumed({ call, messageId, ticketId: each.state?.suspension?.id }, endingOf(each));
  });

/** Whoever waits for news of tasks has answered, and the run that comes reads them. An answer of a certain shape is on no record yet. */
function saidAll(run: OpenRunRecord, { history }: LoadedThread): SaidAll | undefined {
  if (run.status !== "waiting" || run.waiting.reason !== "awaiting-tasks" || run.activation.options.output !== undefined) return undefined;
  const last = history.messages.findLast(({ message }) => message.role === "assistant" && message.metadata?.runId === run.runId);
  return { type: "natural-end", response: last === undefined ? "" : messageText(last.message) };
}

/**
 * Ends a run that a new message leaves behind, in one commit: calls that may have had their effect have a result in view that says what
 * is known, and those of which nothing is known stay open in the ledger. `ctx` is that of the run, to ask its tools with; without one
 * nobody is there to ask.
 */
export async function closeRun(parts: ClosingParts, run: OpenRunRecord, { loaded, landing, ctx, by }: LeftScene): Promise<void> {
  const states = storedCalls(loaded.history.threadState);
  const started = startedCalls(loaded, states);
  const found = await Promise.all(started.map((call) => findOut(ctx, call)));
  const ledger = new RunLedger({ runId: run.runId, scopeId: parts.scopeId }, loaded.history.ledger ?? []);
  const closed = started.map((call, index) => ({ ...call, result: closeCall(ledger, call.live, found[index]) }));
  const maker = { ids: parts.ids, identity: runIdentity(run), tally: { steps: run.steps } };
  const end: RunEnd = {
    run,
    view: loaded.history.messages,
    messages: closed.map(({ live, result }) => lateResult(maker, { ...live, ...live.call }, result)),
    threadState: stateWithout(loaded.history.threadState, states, closed),
    tickets: states.flatMap((call) => closedTicket(call, by)),
    events: factsOf(closed),
    outcomes: ledger.takeOutcomes(),
    ending: saidAll(run, loaded),
  };
  await landing.land(endNews(end, parts.clock.now()));
}
