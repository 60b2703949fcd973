import {
  type AgentEvent,
  type Decided,
  type JsonObject,
  type Message,
  type MessageId,
  NATURAL_END,
  type PersistedState,
  RUN_SCHEMA_VERSION,
  type RunActivation,
  type RunIdentity,
  type RunInput,
  type RunLifecycle,
  type RunPlace,
  type RunProjection,
  type Termination,
  type Ticket,
} from "@awaken/contract";
import type { EventAppend, LedgerClaim, LedgerOutcome, PendingConsumption, ThreadCommit } from "@awaken/contract/store";
import { callsIn, canonicalEvent, messageCommitted } from "./canonical-events.ts";
import type { Tally } from "./tally.ts";

/** Messages of the thread's queue that enter with a commit, behind what else is new. */
export interface TakenIn {
  readonly messages: readonly Message[];
  readonly consume: PendingConsumption;
}

/** What is new in a run, for one commit. */
export interface News {
  /** New messages for a log of `count` rows. A summary among them learns its rows from the count, so it is asked for again on a conflict. */
  readonly messages: (count: number) => readonly Message[];
  readonly takenIn?: TakenIn | undefined;
  readonly lifecycle: RunLifecycle;
  readonly tally: Readonly<Tally>;
  readonly runState: PersistedState;
  readonly threadState: PersistedState;
  readonly tickets: readonly Ticket[];
  readonly decided: Decided;
  /** Facts that have to be on record together with it. */
  readonly events: readonly AgentEvent[];
  /** Calls that are about to run. */
  readonly claims: readonly LedgerClaim[];
  /** Results of calls that were claimed. */
  readonly outcomes: readonly LedgerOutcome[];
  /** The run leaves with it. */
  readonly ending: Termination | undefined;
}

/** What stays the same in every record of one activation. */
export interface RunBasis {
  readonly identity: RunIdentity;
  /** On whose behalf. */
  readonly principal: JsonObject | undefined;
  readonly activation: RunActivation;
  readonly createdAt: number;
  readonly startedAt: number;
}

/** How the last commit left thread and run. */
export interface Standing {
  /** Rows in the log. */
  readonly count: number;
  /** The run is on record: a start is told as a resumption. */
  readonly isResumed: boolean;
  readonly input: RunInput;
  readonly output: RunProjection["output"];
  /** When it is now, for the record: later than whatever the thread has. */
  readonly at: number;
}

/** While it is put together. */
type Writable<T> = { -readonly [Key in keyof T]: T[Key] };

type DoneRun = Extract<RunProjection, { status: "done" }>;
type RunningRun = Extract<RunProjection, { status: "running" }>;

/** A commit that nobody has seen yet. */
export type Draft = Writable<ThreadCommit>;

/** The commit that says what is new. It decides nothing and asks nobody. */
export function compose(basis: RunBasis, standing: Standing, news: News): Draft {
  const { threadId, runId } = basis.identity;
  const { claims, outcomes, threadState, takenIn } = news;
  const own = news.messages(standing.count);
  const messages = takenIn === undefined ? own : [...own, ...takenIn.messages];
  const commit: Draft = {
    threadId,
    runId,
    run: project(basis, standing, news, messages),
    events: factsOf(basis.identity, standing, news.events, messages, standing.input.triggerMessageIds),
  };
  if (messages.length > 0) commit.messageDelta = { messages, expectedMessageCount: standing.count };
  if (takenIn !== undefined) commit.pending = { consume: takenIn.consume };
  if (claims.length + outcomes.length > 0) commit.ledger = { claims, outcomes };
  if (Object.keys(threadState.extensions).length > 0) commit.threadState = threadState;
  return commit;
}

/** What is put on record beside a run: its own record stays as it is. */
export interface Addition {
  readonly messages: readonly Message[];
  readonly events?: readonly AgentEvent[];
  readonly outcomes?: readonly LedgerOutcome[];
}

export function composeAddition(
  identity: RunPlace,
  standing: Pick<Standing, "count" | "isResumed">,
  { messages, events = [], outcomes }: Addition,
): Draft {
  const { threadId, runId } = identity;
  return {
    threadId,
    runId,
    messageDelta: { messages, expectedMessageCount: standing.count },
    events: factsOf(identity, standing, events, messages, []),
    ...(outcomes === undefined ? undefined : { ledger: { claims: [], outcomes } }),
  };
}

const rowsOf = (identity: RunPlace, count: number, messages: readonly Message[]): EventAppend[] =>
  messages.map((message, index) => messageCommitted(identity, message, count + 1 + index));

function factsOf(
  identity: RunPlace,
  { count, isResumed }: Pick<Standing, "count" | "isResumed">,
  events: readonly AgentEvent[],
  messages: readonly Message[],
  asked: readonly MessageId[],
): readonly EventAppend[] {
  const facts = rowsOf(identity, count, messages);
  const committed = { calls: callsIn(messages, events), asked };
  let isKnown = isResumed;
  for (const event of events) {
    facts.push(canonicalEvent(identity, event, isKnown, committed));
    if (event.type === "run-start") isKnown = true;
  }
  return facts;
}

/** From the first to the last row that the run wrote itself. */
function outputRange({ count, output }: Standing, messages: readonly Message[]): RunProjection["output"] {
  let first = output?.fromSeq;
  let last: number | undefined;
  for (let index = 0; index < messages.length; index++) {
    const role = messages[index]?.role;
    if (role !== "assistant" && role !== "tool") continue;
    last = count + 1 + index;
    first ??= last;
  }
  return last === undefined || first === undefined ? output : { fromSeq: first, toSeq: last };
}

/** A run answers what it was asked first, and what came to it since. */
export function withTriggers(input: RunInput, added: readonly MessageId[]): RunInput {
  const fresh = added.filter((id) => !input.triggerMessageIds.includes(id));
  return fresh.length === 0 ? input : { ...input, triggerMessageIds: [...input.triggerMessageIds, ...fresh] };
}

function project(basis: RunBasis, standing: Standing, news: News, messages: readonly Message[]): RunProjection {
  const { identity, principal, activation, createdAt, startedAt } = basis;
  const { decided, tally, takenIn } = news;
  const output = outputRange(standing, messages);
  const taken = takenIn?.messages.map(({ id }) => id);
  const run: Writable<RunningRun> = {
    schemaVersion: RUN_SCHEMA_VERSION,
    runId: identity.runId,
    threadId: identity.threadId,
    agentId: identity.agentId,
    activation,
    input: taken === undefined ? standing.input : withTriggers(standing.input, taken),
    createdAt,
    updatedAt: standing.at,
    steps: tally.steps,
    usage: tally.usage,
    state: news.runState,
    decided: decided.entries,
    answerId: tally.answerId,
    status: "running",
    startedAt,
  };
  if (tally.usageByModel.length > 0) run.usageByModel = tally.usageByModel;
  if (tally.usageBelow !== undefined) run.usageBelow = tally.usageBelow;
  if (decided.closed !== undefined) run.closed = decided.closed;
  if (output !== undefined) run.output = output;
  if (identity.parentRunId !== undefined) run.parentRunId = identity.parentRunId;
  if (identity.rootRunId !== undefined) run.rootRunId = identity.rootRunId;
  if (principal !== undefined) run.principal = principal;
  if (identity.dispatchId !== undefined) run.dispatchId = identity.dispatchId;
  if (identity.sessionId !== undefined) run.sessionId = identity.sessionId;
  if (identity.traceParent !== undefined) run.traceParent = identity.traceParent;
  return withStatus(run, news);
}

/**
 * A record says that its run waits, or is done, only when the run has left: until then a decision may still let it go on here, hooks of
 * its end run, and nobody else may take it up.
 */
function statusOf({ lifecycle, ending }: News): RunLifecycle["status"] {
  return ending === undefined && lifecycle.status !== "created" ? "running" : lifecycle.status;
}

function withStatus(run: Writable<RunningRun>, news: News): RunProjection {
  const { lifecycle, tickets, tally, ending } = news;
  const status = statusOf(news);
  switch (status) {
    case "created": {
      const { startedAt: _notYet, ...body } = run;
      return { ...body, status };
    }
    case "running":
      if (tickets.length > 0) run.tickets = tickets;
      return run;
    case "waiting":
      return { ...run, status, waiting: { reason: lifecycle.waitingReason ?? "suspended", tickets } };
    case "done": {
      const outcome: Writable<DoneRun["outcome"]> = { termination: final(lifecycle.termination ?? ending), response: tally.response };
      if (tally.output !== undefined) outcome.output = tally.output.value;
      return { ...run, status, finishedAt: run.updatedAt, outcome };
    }
  }
}

function final(termination: Termination | undefined): Exclude<Termination, { type: "suspended" }> {
  if (termination === undefined || termination.type === "suspended") return { type: "error", message: "the run is done without a reason" };
  return termination.type === "natural-end" ? NATURAL_END : termination;
}
