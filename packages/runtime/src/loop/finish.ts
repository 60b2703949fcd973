import {
  type AgentEvent,
  type AgentUsage,
  type Conclusion,
  conclude,
  errorMessage,
  errorTermination,
  type JsonValue,
  type RunId,
  type RunIdentity,
  type RunOutcome,
  type RunRecord,
  type RunStatus,
  type Termination,
  type ThreadId,
  type Ticket,
  type Usage,
  type WaitingReason,
} from "@awaken/contract";
import type { LeavingFailure, ToldPlace } from "../commit/holding.ts";
import { openTickets } from "../commit/open-tickets.ts";
import { seldom as commitSeldom } from "../commit/seldom-door.ts";
import type { Elsewhere } from "../commit/store-failed.ts";
import type { Tally } from "../commit/tally.ts";
import { command } from "../phase/command.ts";
import { runLifecycle } from "../state/run-lifecycle.ts";
import { type Late, whenThere } from "../stream/door.ts";
import { openChildren } from "./child-calls.ts";
import { hasOpenCalls } from "./open-calls.ts";
import type { OutputCheck, RunContext } from "./run-context.ts";
import type { StepSoFar } from "./step-so-far.ts";

export interface LoopResult {
  readonly runId: RunId;
  readonly threadId: ThreadId;
  readonly text: string;
  readonly status: RunStatus;
  readonly waitingReason: WaitingReason | undefined;
  readonly termination: Termination;
  readonly steps: number;
  readonly usage: Usage;
  /** The same, and what is known of the agents below. */
  readonly usageByAgent: readonly AgentUsage[];
  /** It has started other runs: some of them may have records of their own. */
  readonly hasStarted: boolean;
  /** What those used that have records of their own. Undefined: the records have to be read. */
  readonly recordedBelow: readonly AgentUsage[] | undefined;
  readonly tickets: readonly Ticket[];
  readonly output: JsonValue | undefined;
  /** An answer of a certain shape was asked for. */
  readonly isOutputAsked: boolean;
  /** False: the last commit failed, so this is what whoever executed the run knows, and not how it ended. */
  readonly isKept: boolean;
}

/** The activation ended and the run did not: somebody else, or this process later, goes on from its last commit. Nobody was told of an end. */
export interface LeftRun {
  readonly type: "left";
  readonly runId: RunId;
  readonly threadId: ThreadId;
  /** What it could not get past, when another try may. */
  readonly failure: LeavingFailure | undefined;
  /** What whoever listened has heard. Undefined: nothing. */
  readonly told?: ToldRun;
}

/** How far listeners of an activation have come. */
export interface ToldRun {
  readonly runId: RunId;
  readonly place: ToldPlace;
  /** The step that it was in last, as far as that came. */
  readonly step: StepSoFar | undefined;
}

/** The run goes on elsewhere, or later. */
export type Leaving = Pick<LeftRun, "type" | "failure">;

/** What an activation comes to. */
export type LoopOutcome = LoopResult | LeftRun;

export const isLeft = (outcome: LoopOutcome): outcome is LeftRun => "type" in outcome;

type StateTold = Extract<AgentEvent, { type: "state-snapshot" }>;

/** The whole state, made only if somebody listens, and once for each revision. */
function tellState(ctx: RunContext, before?: StateTold): StateTold | undefined {
  const { listeners, state } = ctx;
  if (!listeners.isHeard) return undefined;
  if (before?.snapshot.revision === state.revision) {
    listeners.tell(before);
    return before;
  }
  const event: StateTold = { type: "state-snapshot", snapshot: state.export("shared") };
  ctx.tell(event);
  return event;
}

function tellStepEnd(ctx: RunContext): StateTold | undefined {
  const step = ctx.tally.untoldStep;
  if (step === undefined) return undefined;
  ctx.tally.untoldStep = undefined;
  const told = tellState(ctx);
  ctx.tell({ type: "step-end", step });
  return told;
}

/** Commits the step that was closed last, then tells. */
export const commitStep = (ctx: RunContext): Late<void> =>
  whenThere(ctx.writer.write(), () => {
    tellStepEnd(ctx);
    return ctx.tasks.hasOutbox ? ctx.tasks.deliver() : undefined;
  });

/** A run that waits for something else than a decision stays waiting; a cancelled one never does. */
function isOver(ctx: RunContext, termination: Termination): boolean {
  const status = ctx.state.get(runLifecycle)?.status;
  if (status === "done") return true;
  if (termination.type === "suspended") return false;
  return status !== "waiting" || termination.type !== "natural-end";
}

/** What a run has used so far, by agent. */
export function countedOf(
  { agentId, agentPath = [agentId] }: Pick<RunIdentity, "agentId" | "agentPath">,
  { usage, usageBelow }: Pick<RunRecord, "usage" | "usageBelow"> | Pick<Tally, "usage" | "usageBelow">,
): Pick<LoopResult, "usage" | "usageByAgent" | "hasStarted"> {
  return { usage, usageByAgent: [{ agentPath, runs: 1, usage }, ...(usageBelow ?? [])], hasStarted: usageBelow !== undefined };
}

type RunEndEvent = Extract<AgentEvent, { type: "run-end" }>;

/** The last words, for listeners and for the record. */
function runEnd(ctx: RunContext, termination: Termination, tickets: readonly Ticket[]): RunEndEvent {
  const lifecycle = ctx.state.get(runLifecycle);
  const { response, output, usage, usageByModel } = ctx.tally;
  const isOutputMissing = ctx.options.output !== undefined && output === undefined;
  const status = lifecycle?.status ?? "done";
  const conclusion = conclude({ termination, status, waitingReason: lifecycle?.waitingReason, isOutputMissing });
  const result = outcomeOf(conclusion, response, output);
  const { threadId, runId } = ctx.identity;
  return { type: "run-end", threadId, runId, termination, tickets, result, usage, usageByModel };
}

function outcomeOf(conclusion: Conclusion, response: string, output: Tally["output"]): RunOutcome {
  // What most runs come to, without a list of fields to leave out.
  if (conclusion.status === "done" && output === undefined) return { status: conclusion.status, response };
  const { termination: _same, ...outcome } = conclusion;
  return output === undefined ? { ...outcome, response } : { ...outcome, response, output: output.value };
}

/** What belongs to an end and cannot keep the run from it: that it failed is said in the log. */
export function attempt({ log, identity: { runId } }: RunContext, failed: string, work: () => Late<unknown>): Late<unknown> {
  // Whatever a logger gives back is not waited for.
  const tell = (thrown: unknown): void => {
    log.error(`${failed}: ${errorMessage(thrown)}`, { runId });
  };
  try {
    const done = work();
    return done instanceof Promise ? done.catch(tell) : done;
  } catch (thrown) {
    tell(thrown);
    return undefined;
  }
}

/** What the store failed with, when that is not the end of the run: somebody goes on from its last commit. Whoever has a store has loaded what says so. */
export const takenBack = (ctx: RunContext, thrown: unknown): Leaving | Elsewhere | undefined =>
  ctx.wayOut === undefined ? undefined : commitSeldom.here.takenBack(ctx, ctx.wayOut, thrown);

/** How a run ends whose last commit is not on record, also where what finds that out cannot be loaded. */
async function lostCommit(thrown: unknown): Promise<Termination> {
  try {
    return (await commitSeldom.open()).lostCommit(thrown);
  } catch {
    return errorTermination(thrown);
  }
}

/** Whoever began tasks has loaded what ends them (`run/open-tasks.ts`), and so has a call that waits: else it is others who began something. */
const endBegun = (ctx: RunContext, given: Termination, isElsewhere: boolean): Late<unknown> =>
  attempt(ctx, "what the run began could not be ended", async () =>
    (await ctx.seldom.open()).endBegun(ctx, given, isElsewhere, isOver(ctx, given)),
  );

function judgeEarly(ctx: RunContext, check: OutputCheck): Late<unknown> {
  ctx.tally.output = undefined;
  return attempt(ctx, "the answer could not be checked", async () => (await ctx.seldom.open()).judgeEarly(ctx, check));
}

const runEndHooks = (ctx: RunContext, termination: Termination): Late<unknown> =>
  attempt(ctx, "a runEnd hook failed", () => ctx.phases.run("runEnd", { termination }));

/** Whether runs may wait below calls that do not: a step was cut off, or a run was begun that is not known here to be over. */
export const mayWaitBelow = ({ cutCalls, tally: { usageBelow, unknownBelow } }: RunContext): boolean =>
  cutCalls.length > 0 || (usageBelow !== undefined && unknownBelow > 0);

/**
 * The one door: lifecycle, hooks, commit, and exactly one terminal event. Hooks of the end run whatever happened, and none of them can
 * keep the run from ending. A commit that fails is the run's failure, unless the run is tried again: then nothing is told.
 */
export function finish(ctx: RunContext, end: Termination | Elsewhere): Late<LoopOutcome> {
  const isElsewhere = end.type === "elsewhere";
  const given = end.type === "elsewhere" ? end.termination : end;
  const hasBegun = mayWaitBelow(ctx) || ctx.tasks.hasOutbox || ctx.tasks.hasAny || hasOpenCalls(ctx);
  return whenThere(hasBegun ? endBegun(ctx, given, isElsewhere) : undefined, () =>
    whenThere(endLifecycle(ctx, given), (termination) =>
      whenThere(ticketsLeft(ctx), (tickets) => putEndOnRecord(ctx, runEnd(ctx, termination, tickets), isElsewhere)),
    ),
  );
}

/** Lifecycle and hooks. Gives what the run came to. */
function endLifecycle(ctx: RunContext, given: Termination): Late<Termination> {
  if (isOver(ctx, given) && ctx.state.get(runLifecycle)?.status !== "done")
    ctx.state.commit(command().update(runLifecycle, { type: "done", termination: given, at: ctx.clock.now() }));
  const termination = ctx.state.get(runLifecycle)?.termination ?? given;
  const isUnjudged = ctx.checkOutput !== undefined && termination.type === "behavior-requested";
  const judging = isUnjudged ? judgeEarly(ctx, ctx.checkOutput) : undefined;
  return whenThere(judging, () => whenThere(runEndHooks(ctx, termination), () => termination));
}

/** Also those of the runs that it began: then it has loaded what reads them. */
function ticketsLeft(ctx: RunContext): Late<readonly Ticket[]> {
  const { room } = ctx.seldom;
  const isAlone = room === undefined || (openChildren(ctx.state).length === 0 && !ctx.tasks.hasRunning);
  return isAlone ? openTickets(ctx) : room.allTickets(ctx);
}

function putEndOnRecord(ctx: RunContext, event: RunEndEvent, isElsewhere: boolean): Late<LoopOutcome> {
  ctx.writer.stage(event);
  if (isElsewhere) return tellEnd(ctx, event, false);
  const writing = ctx.writer.write(event.termination);
  if (!(writing instanceof Promise)) return tellEnd(ctx, event, true);
  return writing.then(
    () => tellEnd(ctx, event, true),
    (thrown: unknown) => endUnrecorded(ctx, event, thrown),
  );
}

async function endUnrecorded(ctx: RunContext, { tickets }: RunEndEvent, thrown: unknown): Promise<LoopOutcome> {
  const { runId, threadId } = ctx.identity;
  // Whoever took the run away from this process knows that.
  if (thrown !== ctx.signal.reason) ctx.log.error(`the last commit failed: ${errorMessage(thrown)}`, { runId });
  const taken = takenBack(ctx, thrown);
  if (taken?.type === "left") return { ...taken, runId, threadId };
  return tellEnd(ctx, runEnd(ctx, taken?.termination ?? (await lostCommit(thrown)), tickets), false);
}

function tellEnd(ctx: RunContext, event: RunEndEvent, isKept: boolean): LoopResult {
  tellState(ctx, tellStepEnd(ctx));
  ctx.tell(event);
  const lifecycle = ctx.state.get(runLifecycle);
  const { usage, usageByAgent, hasStarted } = countedOf(ctx.identity, ctx.tally);
  return {
    runId: ctx.identity.runId,
    threadId: ctx.identity.threadId,
    text: ctx.tally.response,
    status: lifecycle?.status ?? "done",
    waitingReason: lifecycle?.waitingReason,
    termination: event.termination,
    steps: ctx.tally.steps,
    usage,
    usageByAgent,
    hasStarted,
    recordedBelow: ctx.tally.recordedBelow,
    tickets: event.tickets,
    output: ctx.tally.output?.value,
    isOutputAsked: ctx.options.output !== undefined,
    isKept,
  };
}
