import {
  type AgentEvent,
  AwakenError,
  type Backend,
  errorMessage,
  errorTermination,
  type MessageId,
  messageId,
  NATURAL_END,
  type RunLifecycle,
  type Termination,
} from "@awaken/contract";
import type { Elsewhere } from "../commit/store-failed.ts";
import { command } from "../phase/command.ts";
import type { PhaseOutcome } from "../phase/whole-phase-parts.ts";
import type { Prompt } from "../prompt/request.ts";
import { pendingWork } from "../state/pending-work.ts";
import { runLifecycle } from "../state/run-lifecycle.ts";
import { toolCallStates } from "../state/tool-call-states.ts";
import { type Late, whenThere } from "../stream/door.ts";
import { acceptedInput } from "./accepted-input.ts";
import { crossBoundary } from "./boundary.ts";
import { waitingReason } from "./child-calls.ts";
import { dropEarly, tellDecisions } from "./decisions/early-decisions.ts";
import { attempt, commitStep, finish, type Leaving, type LoopOutcome, takenBack } from "./finish.ts";
import { activateAgent, nextAgent, unbindPlugins } from "./handoff.ts";
import { hasNext, hasSuspended } from "./open-calls.ts";
import { judgeOutput } from "./output.ts";
import { finishOpenCalls } from "./resume/resume.ts";
import type { RunContext } from "./run-context.ts";
import { ask, endStep, prepareStep } from "./step.ts";
import type { StepOutcome } from "./step-outcome.ts";
import { isNews, openTasks } from "./task-news.ts";

const REFUSED: ReadonlySet<string> = new Set([
  "message_version_conflict",
  "fence_lost",
  "thread_already_running",
  "pending_selection_conflict",
  "already_consumed",
  "storage_already_exists",
]);

/** Somebody else has the thread, or what the run was to begin with: nothing of it is on record, and nobody has heard of it. */
const isRefused = ({ isContinuation }: RunContext, thrown: unknown): boolean =>
  !isContinuation && AwakenError.is(thrown) && REFUSED.has(thrown.code);

const NONE: readonly never[] = Object.freeze([]);

const CANCELLED: Termination = { type: "cancelled" };

const LEAVING: Leaving = Object.freeze({ type: "left", failure: undefined });

type Ending = Termination | Leaving | Elsewhere;

/** A run that has begun. `ending` is what it came to before its first step, if it did not get there. */
export interface Begun {
  readonly ctx: RunContext;
  readonly ending: Ending | undefined;
}

/** Whoever executes a run. It is asked from one frame for all of it: a frame around the loop is 0.5 KiB for each run that waits in there. */
export interface RunHost {
  /** Rejects when the run cannot begin. */
  begin(): Promise<Begun>;
  /** What those who wait for the run are told. */
  outcomeOf?(ctx: RunContext, outcome: LoopOutcome): Late<LoopOutcome>;
  /** The run is over here, whatever came of it. */
  left?(ctx: RunContext): Promise<void> | undefined;
}

/**
 * Runs to the end or to the next wait. Every way out goes through `finish`, which says so exactly once; a run that cannot begin throws,
 * and one that leaves before its end says nothing.
 */
export async function runFrom(host: RunHost): Promise<LoopOutcome> {
  let { ctx, ending }: { ctx: RunContext; ending: Ending | Broken | undefined } = await host.begin();
  try {
    while (ending === undefined) {
      ending = goes(ctx) ?? (nextAgent(ctx) === undefined ? undefined : await (await ctx.seldom.open()).followHandoffs(ctx));
      if (ending !== undefined) break;
      const id = openStep(ctx);
      let reached: StepOutcome;
      try {
        // In this frame, and in none of its own: most runs that wait do so here.
        const opening = beginStep(ctx, id);
        const opened = opening instanceof Promise ? await opening : opening;
        const made = "type" in opened ? opened : endStep(ctx, id, opened, await ask(ctx, opened.request));
        reached = made instanceof Promise ? await made : made;
      } catch (thrown) {
        // The step is not over: whoever goes on with the run makes it again.
        if (takenBack(ctx, thrown) !== undefined) throw thrown;
        reached = { type: "ended", termination: failureOf(ctx, thrown) };
      }
      if (reached.type === "left") {
        ending = reached;
        break;
      }
      const following = goOnFrom(ctx, reached);
      ending = following instanceof Promise ? await following : following;
    }
  } catch (thrown) {
    ending = { type: "broken", thrown };
  }
  return await end(host, ctx, ending);
}

/** The run that nobody else has to do with. */
export const runLoop = (ctx: RunContext): Promise<LoopOutcome> => runFrom({ begin: async () => beginLoop(ctx) });

/** A store that fails for a moment ends no run that somebody tries again: it goes on from its last commit. */
const endingOf = (ctx: RunContext, thrown: unknown): Ending => takenBack(ctx, thrown) ?? failureOf(ctx, thrown);

/** A step was made: it is closed and put on record, and what comes after it is found out. */
function goOnFrom(ctx: RunContext, reached: TakenStep): Late<Termination | undefined> {
  return whenThere(closeStep(ctx, reached), () => {
    const outcome = finalOutcome(ctx, reached);
    // A natural end is mostly the end of the run, and an ending always: then one commit is enough for both.
    const isKept = outcome.type === "continue" || outcome.type === "suspended";
    return isKept ? whenThere(commitStep(ctx), () => follow(ctx, outcome)) : follow(ctx, outcome);
  });
}

/** It failed. What that comes to is found out where whatever fails, a logger too, keeps nobody from leaving. */
interface Broken {
  readonly type: "broken";
  readonly thrown: unknown;
}

async function end(host: RunHost, ctx: RunContext, reached: Ending | Broken): Promise<LoopOutcome> {
  try {
    const ending = reached.type === "broken" ? endingOf(ctx, reached.thrown) : reached;
    ctx.desk.isClosed = true;
    // What somebody is about to be told that is decided, is.
    if (ctx.desk.taking !== undefined) await ctx.desk.taking;
    const { runId, threadId } = ctx.identity;
    const { backend } = ctx.active.plan;
    if (backend !== undefined && ending.type === "cancelled" && ctx.signal.aborted) await stopRemote(ctx, backend);
    let outcome: LoopOutcome;
    try {
      const finishing = ending.type === "left" ? { ...ending, runId, threadId } : finish(ctx, ending);
      outcome = finishing instanceof Promise ? await finishing : finishing;
    } finally {
      unbindPlugins(ctx);
      ctx.inbox.close();
    }
    const told = host.outcomeOf?.(ctx, outcome) ?? outcome;
    return told instanceof Promise ? await told : told;
  } finally {
    const leaving = host.left?.(ctx);
    if (leaving !== undefined) await leaving;
  }
}

/** Apart from the loop: what a closure sees is kept for each run that waits there. */
const stopRemote = (ctx: RunContext, backend: Backend): Late<unknown> =>
  attempt(ctx, "a remote run could not be told to stop", async () => (await ctx.seldom.open()).abortRemote(ctx, backend));

/** Between two steps. */
function goes(ctx: RunContext): Termination | Leaving | undefined {
  if (ctx.signal.aborted) return { type: "cancelled" };
  return ctx.wayOut?.isDue === true ? LEAVING : undefined;
}

/** Up to the question to the model: what is asked, or what the step came to without it. An agent that runs elsewhere does all of it. */
function beginStep(ctx: RunContext, id: MessageId): Late<Prompt | StepOutcome> {
  const { backend } = ctx.active.plan;
  return backend === undefined ? prepareStep(ctx, id) : whenThere(ctx.seldom.open(), (room) => room.runRemoteStep(ctx, id, backend));
}

/** A run that was told to stop is cancelled, whatever broke on its way out: a hook may throw because of the very signal. */
function failureOf(ctx: RunContext, thrown: unknown): Termination {
  const { runId } = ctx.identity;
  if (ctx.signal.aborted) {
    const isExpected = AwakenError.is(thrown) && thrown.code === "cancelled";
    if (!isExpected) ctx.log.warn(`run ${runId} was cancelled, and meanwhile this failed: ${errorMessage(thrown)}`, { runId });
    return { type: "cancelled" };
  }
  if (!AwakenError.is(thrown)) ctx.log.error(`run ${runId} failed: ${errorMessage(thrown)}`);
  return errorTermination(thrown);
}

/** What is on record before anything is told. */
interface Opening {
  readonly started: AgentEvent;
  readonly again: AgentEvent | undefined;
  readonly accepted: readonly AgentEvent[];
}

function openingOf({ identity, input, tally, isContinuation, retry }: RunContext): Opening {
  const { threadId, runId } = identity;
  return {
    started: { type: "run-start", threadId, runId, identity, answerId: tally.answerId, resumed: isContinuation },
    again: retry === undefined ? undefined : { type: "run-retry", ...retry },
    accepted: acceptedInput(input),
  };
}

/** A run on its way to its first step. */
interface Beginning {
  readonly ctx: RunContext;
  /** How it stood, when it goes on. */
  readonly before: RunLifecycle | undefined;
  isOnRecord: boolean;
}

/** One after the other, at once where nothing is waited for. What the run comes to in one of them keeps it from the rest. */
const STAGES: readonly ((beginning: Beginning) => Late<Termination | void>)[] = [
  ({ ctx }) => (ctx.input.some(isNews) ? whenThere(ctx.seldom.open(), (room) => room.readInput(ctx)) : undefined),
  putOnRecord,
  ({ ctx }) => activateAgent(ctx),
  ({ ctx }) => {
    if (ctx.seed !== undefined) ctx.state.seed(ctx.seed);
    return finishOpenCalls(ctx);
  },
  ({ ctx }) =>
    whenThere(ctx.phases.run("runStart", { isContinuation: ctx.isContinuation }), (outcome) =>
      outcome === "cancelled" ? CANCELLED : undefined,
    ),
  ({ ctx, before }) => {
    // Decided ones, too: somebody may have been quicker than this.
    const isSuspended = hasSuspended(ctx) || hasNext(ctx);
    const opening = openTasks(ctx, before?.waitingReason === "awaiting-tasks", !isSuspended);
    if (isSuspended) return whenThere(opening, () => suspend(ctx));
    if (!ctx.isContinuation) return opening;
    // What was said behind its tickets, or before it was cut: it is between two steps.
    return whenThere(opening, (awaits) => awaits ?? whenThere(crossBoundary(ctx, "next-step"), () => undefined));
  },
];

function toFirstStep(beginning: Beginning, from = 0): Late<Termination | undefined> {
  for (let at = from; at < STAGES.length; at++) {
    const reached = STAGES[at]?.(beginning);
    if (reached instanceof Promise) return reached.then((ending) => (ending === undefined ? toFirstStep(beginning, at + 1) : ending));
    if (reached !== undefined) return reached;
  }
  return undefined;
}

/** Up to the first step, or to what the run comes to without it. Fails when the run cannot begin. */
export function beginLoop(ctx: RunContext): Late<Begun> {
  const before = ctx.isContinuation ? ctx.state.get(runLifecycle) : undefined;
  const beginning: Beginning = { ctx, before, isOnRecord: false };
  const begun = (ending: Termination | undefined): Begun => {
    ctx.input = NONE;
    return { ctx, ending };
  };
  const failed = (thrown: unknown): Begun => {
    if (beginning.isOnRecord || !isRefused(ctx, thrown)) return { ctx, ending: endingOf(ctx, thrown) };
    unbindPlugins(ctx);
    throw thrown;
  };
  try {
    const at = ctx.clock.now();
    const start =
      before !== undefined ? ({ type: "set-running", at } as const) : ({ type: "start", runId: ctx.identity.runId, at } as const);
    ctx.state.commit(command().update(runLifecycle, start));
    const reached = toFirstStep(beginning);
    return reached instanceof Promise ? reached.then(begun, failed) : begun(reached);
  } catch (thrown) {
    return failed(thrown);
  }
}

/** The run and what it was asked are put on record, and then it is said so: whatever happens from here on, they are there. */
function putOnRecord(beginning: Beginning): Late<undefined> {
  const { ctx } = beginning;
  const { writer } = ctx;
  const { started, again, accepted } = openingOf(ctx);
  writer.stage(started);
  if (again !== undefined) writer.stage(again);
  for (const event of accepted) writer.stage(event);
  const tell = (): undefined => {
    beginning.isOnRecord = true;
    ctx.tell(started);
    if (again !== undefined) ctx.tell(again);
    tellDecisions(ctx);
    for (const event of accepted) ctx.tell(event);
  };
  const writing = writer.write();
  if (!(writing instanceof Promise)) return tell();
  return writing.then(tell, (thrown: unknown) => {
    if (!isRefused(ctx, thrown)) ctx.tell(started);
    throw thrown;
  });
}

type TakenStep = Exclude<StepOutcome, Leaving>;

function openStep(ctx: RunContext): MessageId {
  ctx.tally.steps += 1;
  const id = ctx.tally.steps === 1 ? ctx.tally.answerId : messageId(ctx.ids());
  const start = { type: "step-start", step: ctx.tally.steps, messageId: id, agentId: ctx.active.plan.agent.id } as const;
  ctx.progress.begin(start);
  ctx.emit(start);
  if (ctx.state.get(toolCallStates) !== undefined) ctx.state.commit(command().update(toolCallStates, { type: "clear" }));
  return id;
}

/** The same for every outcome: count it, run its hooks. */
function closeStep(ctx: RunContext, reached: TakenStep): PhaseOutcome | Promise<PhaseOutcome> {
  const at = ctx.clock.now();
  const close = command().update(runLifecycle, { type: "step-completed", at });
  if (reached.type !== "suspended" && ctx.desk.early.length > 0) dropEarly(ctx);
  if (reached.type === "waits") close.update(runLifecycle, { type: "set-waiting", reason: reached.reason, at });
  if (reached.type === "suspended") close.update(runLifecycle, { type: "set-waiting", reason: waitingReason(ctx.state), at });
  ctx.state.commit(close);
  // Also when a hook fails: its end is told before that of the run.
  ctx.tally.untoldStep = ctx.tally.steps;
  return ctx.phases.run("stepEnd", { step: ctx.tally.steps });
}

/** A hook may have made the step the last one. */
function finalOutcome(ctx: RunContext, reached: TakenStep): TakenStep {
  const lifecycle = ctx.state.get(runLifecycle);
  if (reached.type === "ended" || lifecycle?.status !== "done" || lifecycle.termination === undefined) return reached;
  return { type: "ended", termination: lifecycle.termination };
}

/** What comes after a step: undefined means another one. */
function follow(ctx: RunContext, outcome: TakenStep): Late<Termination | undefined> {
  switch (outcome.type) {
    case "ended":
      return outcome.termination;
    case "suspended":
      return suspend(ctx);
    case "waits":
      return { type: "suspended" };
    case "continue":
      return whenThere(crossBoundary(ctx, "next-step"), () => undefined);
    case "natural-end":
      return endNaturally(ctx);
  }
}

/** The last look into the inbox and its closing are one: a message that was taken is read, or it was not taken. */
function leave(ctx: RunContext): Late<Termination | undefined> {
  if (ctx.inbox.size > 0) return whenThere(crossBoundary(ctx, "on-natural-end"), (hasNews) => (hasNews ? goOn(ctx) : leave(ctx)));
  ctx.inbox.close();
  return NATURAL_END;
}

async function goOn(ctx: RunContext): Promise<undefined> {
  await commitStep(ctx);
}

/** The model has nothing more to do. New messages, an answer that does not fit, or work in the background may keep the run going. */
function endNaturally(ctx: RunContext): Late<Termination | undefined> {
  if (ctx.signal.aborted) return { type: "cancelled" };
  const judging = whenThere(crossBoundary(ctx, "on-natural-end"), (hasNews) => (hasNews ? "again" : judgeOutput(ctx)));
  return whenThere(judging, (judged) => {
    if (judged === "again") return goOn(ctx);
    if (judged !== "fits") return judged;
    if (ctx.state.get(pendingWork)?.hasPending !== true && !ctx.tasks.hasRunning) return leave(ctx);
    return whenThere(ctx.seldom.open(), ({ awaitTasks }) => awaitTasks(ctx));
  });
}

/** Some call waits for a decision, and has loaded what it waits with. */
const suspend = (ctx: RunContext): Promise<Termination | undefined> => ctx.seldom.here.suspend(ctx);
