import { type AgentEvent, AwakenError, errorMessage, runId } from "@awaken/contract";
import { cancelTaskTool } from "../builtin/background/cancel-task-tool.ts";
import type { Holding } from "../commit/holding.ts";
import { isLeft, type LeftRun, type LoopOutcome, type LoopResult } from "../loop/finish.ts";
import { type TakeUp, takeUp } from "../loop/resume/resume.ts";
import type { AgentPlans, RunContext } from "../loop/run-context.ts";
import { runLoop } from "../loop/run-loop.ts";
import type { RunOrder } from "../loop/run-order.ts";
import type { RunPlan } from "../loop/run-plan.ts";
import { describeTools, listIds } from "../loop/to-plan.ts";
import { onAbort } from "../stream/abort.ts";
import { Bounds, type Work } from "../stream/bounds.ts";
import type { Late } from "../stream/door.ts";
import type { Ear, Listen } from "../stream/listeners.ts";
import type { ActiveRun } from "./active-runs.ts";
import { defaultAgent } from "./default-agent.ts";
import type { OpenedTasks, RunInit, RunParts } from "./run-parts.ts";
import { seldom } from "./seldom-door.ts";

/** A run that was accepted: its slot is taken, and it is under way. */
export interface StartedRun {
  readonly run: ActiveRun;
  readonly result: Promise<LoopOutcome>;
}

/** Takes the thread, in the synchronous part of the call, and starts. Throws when the thread is taken. */
export function startRun(
  parts: RunParts,
  order: RunOrder,
  listen?: Listen<AgentEvent> | Ear<AgentEvent>,
  onBegun?: () => void,
): StartedRun {
  if (parts.closing.aborted) throw new AwakenError("cancelled", "the runtime is closed");
  const known = order.intent.runId ?? order.newRunId;
  const run = parts.active.claim(order.threadId, known ?? runId(parts.ids()));
  run.isNew = known === undefined && order.isNewThread === true;
  if (listen !== undefined) run.listeners.add(listen);
  const result = execute(parts, run, order, onBegun);
  run.result = result;
  return { run, result };
}

/** How often a thread is tried for whose holder turned out to be gone, or that was rewound while it was read. */
const MAX_HOLDS = 3;

/** The run has not begun, and there is something else to find now. */
const AGAIN: ReadonlySet<string> = new Set(["fence_lost", "message_version_conflict"]);

/** Apart from the frame below: what a closure sees is kept for each run that waits there. */
const cancelWith = ({ controller }: ActiveRun, signal: AbortSignal): (() => void) => onAbort(signal, () => controller.abort(signal.reason));

/** Holds the thread against other processes while the run is at work. One that nobody is at work on any more is taken from whoever had it. */
async function execute(ofRuntime: RunParts, run: ActiveRun, order: RunOrder, onBegun: (() => void) | undefined): Promise<LoopOutcome> {
  const { signal } = order;
  const bounds = new Bounds(run.controller.signal, ofRuntime);
  let off: (() => void) | undefined;
  bounds.hold();
  try {
    if (signal !== undefined) off = cancelWith(run, signal);
    const parts = ofRuntime.boundTo(bounds);
    const { holds } = parts;
    // In the synchronous part of the call: what is registered from now on is not for this run.
    const init: RunInit = { parts, ofRuntime, run, resolution: parts.resolver.open(), start: startRun, tasks: NO_TASKS };
    for (let tries = 1; ; tries++) {
      // Whoever starts a run has it in his hands before anything happens in it.
      const held = await (holds === undefined ? order.holding : holds.open(run, order.holding, order.isAwaited === true));
      let ctx: RunContext | undefined;
      let isOver = true;
      try {
        ctx = await prepare(init, { ...order, holding: held, isNewThread: tries === 1 ? order.isNewThread : undefined });
        run.ctx = ctx;
        onBegun?.();
        const outcome = outcomeOf(parts, ctx, held, await runLoop(ctx));
        return outcome instanceof Promise ? await outcome : outcome;
      } catch (thrown) {
        if (order.holding !== undefined || !AwakenError.is(thrown) || !AGAIN.has(thrown.code) || tries === MAX_HOLDS) throw thrown;
        isOver = false;
        if (thrown.code === "fence_lost") await holds?.makeRoom(run.threadId);
      } finally {
        const closing = ctx === undefined ? undefined : close(init, ctx, isOver);
        if (closing !== undefined) await closing;
        const leaving = held === undefined ? undefined : holds?.leave(held);
        if (leaving !== undefined) await leaving;
      }
    }
  } finally {
    off?.();
    bounds.letGo();
    ofRuntime.active.release(run);
  }
}

function outcomeOf(parts: RunParts, ctx: RunContext, holding: Holding | undefined, ended: LoopOutcome): Late<LoopOutcome> {
  if (isLeft(ended)) return withTold(ended, ctx, holding);
  if (!ended.isKept && holding?.isTriedAgain === true) return withTold(leftUnkept(ended), ctx, holding);
  rememberOutput(parts, ctx, ended);
  const isUntold = parts.holds === undefined && ctx.identity.taskId !== undefined;
  return isUntold ? parts.more.tellOwner(parts, ctx.identity).then(() => ended) : ended;
}

/** What was sent to a run that is begun once more is still in its inbox then. */
function close(init: RunInit, ctx: RunContext, isOver: boolean): Promise<void> | undefined {
  const { parts, run, tasks } = init;
  init.tasks = NO_TASKS;
  for (const each of tasks) each.close();
  return isOver && run.inbox.size > 0 ? keepUnread(parts, run, ctx) : undefined;
}

async function withTold(left: LeftRun, ctx: RunContext, holding: Holding | undefined): Promise<LeftRun> {
  const { identity, progress } = ctx;
  const step = progress.current;
  const place = (await holding?.place?.()) ?? { type: "unknown" };
  return { ...left, told: { runId: identity.runId, place, step } };
}

/** A run whose last commit could not be written is not over, whatever it says of itself. */
function leftUnkept({ runId, threadId, termination }: LoopResult): LeftRun {
  const { code = "storage_io", message } = termination.type === "error" ? termination : { message: "the run left without its last commit" };
  return { type: "left", runId, threadId, failure: { of: "store", code, message, mayPass: true, retryAfterMs: undefined } };
}

/** The code that checks the answer is at hand as long as the run waits here. */
function rememberOutput({ outputs }: RunParts, ctx: RunContext, { status, runId }: LoopResult): void {
  const { options, checkOutput } = ctx;
  if (options.output === undefined || checkOutput === undefined) return;
  if (status === "waiting") outputs.keep(runId, { schema: options.output, check: checkOutput });
  else outputs.forget(runId);
}

/** Before anything is sent to it: what is asked of an agent that runs elsewhere, its backend must be able to do. */
function checkBackend({ more }: RunParts, { backend, agent }: RunPlan, { options, intent }: RunOrder): Promise<void> | undefined {
  if (backend === undefined) return undefined;
  return more.checkRoot(agent.id, backend, { options, decisions: intent.type === "resume" ? intent.decisions.length : 0 });
}

/** Whether the run is a task of another thread. */
function isTask({ trace, intent }: RunOrder): boolean {
  const record = intent.type === "new" ? intent.created : intent.seen;
  return (trace.taskId ?? record?.activation.trace.taskId) !== undefined;
}

/** The model of such a run can give it up, whatever its tools are. */
function inBackground(plan: RunPlan): RunPlan {
  if (plan.backend !== undefined || plan.tools.has(cancelTaskTool.id)) return plan;
  const tools = new Map([...plan.tools, [cancelTaskTool.id, cancelTaskTool]]);
  const descriptors = describeTools(tools);
  return { ...plan, tools, descriptors, toolIds: listIds(descriptors) };
}

const NO_TASKS: readonly OpenedTasks[] = Object.freeze([]);

/** Everything before the loop. What throws here leaves the run as it was on record. */
function prepare(init: RunInit, order: RunOrder): Promise<RunContext> {
  const { parts, run, resolution } = init;
  tellRefused(run, parts.tasks);
  const plans = new ResolvedPlans(init, isTask(order));
  return takeUp({
    order,
    threadId: run.threadId,
    runId: run.runId,
    outputOf: (id) => parts.outputs.of(id),
    records: parts.records,
    resolve: (agentId) => plans.resolve(agentId),
    check: (plan) => checkBackend(parts, plan, order),
    defaultAgent: defaultAgent(resolution),
    ready: (agentId) => plans.ready(agentId),
    handles: handlesOf(init, order, plans),
    seldom,
    adopt: (id) => parts.active.adopt(run, id),
  });
}

/** News of tasks that came too late for the run wait for the next one. */
function tellRefused({ inbox, threadId }: ActiveRun, tasks: RunParts["tasks"]): void {
  inbox.onRefused = (item) => {
    if (item.type === "task") tasks.tell(threadId, item.event);
  };
}

const OPENING: Work = { limit: "initializeMs", onAbort: "leave", name: () => "a plugin that the runtime initializes" };

/** The agents of a run. */
class ResolvedPlans implements AgentPlans {
  readonly #init: RunInit;
  readonly #isTask: boolean;

  constructor(init: RunInit, isTask: boolean) {
    this.#init = init;
    this.#isTask = isTask;
  }

  /** A runtime that nobody initialized opens the plugins of an agent when it is first needed. */
  ready(agentId: string): Promise<void> | undefined {
    const { parts, resolution } = this.#init;
    const opening = resolution.ready(agentId);
    return opening === undefined ? undefined : parts.bounds.wait(opening, OPENING);
  }

  resolve(agentId: string): RunPlan {
    const plan = this.#init.resolution.resolve(agentId);
    return this.#isTask ? inBackground(plan) : plan;
  }

  async replan(agentId: string): Promise<RunPlan> {
    await this.ready(agentId);
    return this.resolve(agentId);
  }
}

function handlesOf(init: RunInit, order: RunOrder, plans: AgentPlans): TakeUp["handles"] {
  const { parts, run } = init;
  return {
    scopeId: parts.scopeId,
    signal: run.controller.signal,
    clock: parts.clock,
    bounds: parts.bounds,
    ids: parts.ids,
    log: parts.log,
    listeners: run.listeners,
    inbox: run.inbox,
    profileStore: parts.profiles,
    streams: parts.streams,
    cancelGraceMs: parts.cancelGraceMs,
    seldom,
    plans,
    wayOut: order.holding?.wayOut,
    children: parts.more.children(init),
    tasks: (scene) => {
      const opened = parts.more.tasks(init, scene);
      init.tasks = init.tasks.length === 0 ? [opened] : [...init.tasks, opened];
      return opened;
    },
  };
}

/** Messages that were accepted too late for the model to read are in the log for whoever goes on with the thread; news of tasks are told again. Never rejects. */
async function keepUnread(
  { tasks }: RunParts,
  { inbox, threadId: thread }: ActiveRun,
  { log, identity, writer }: RunContext,
): Promise<void> {
  const items = inbox.drain();
  for (const item of items) if (item.type === "task") tasks.tell(thread, item.event);
  const unread = items.flatMap((item) => (item.type === "messages" ? item.messages : []));
  if (unread.length === 0) return;
  try {
    await writer.append(unread);
  } catch (thrown) {
    log.error(`${unread.length} messages could not be kept: ${errorMessage(thrown)}`, { runId: identity.runId });
  }
}
