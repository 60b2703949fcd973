import { type AgentEvent, AwakenError, errorMessage, runId } from "@awaken/contract";
import { cancelTaskTool } from "../builtin/background/cancel-task-tool.ts";
import type { Holding } from "../commit/holding.ts";
import { isLeft, type LeftRun, type LoopOutcome, type LoopResult, type ToldRun } from "../loop/finish.ts";
import { type TakeUp, takeUp } from "../loop/resume/resume.ts";
import type { AgentPlans, RunContext } from "../loop/run-context.ts";
import { runLoop } from "../loop/run-loop.ts";
import type { RunOrder } from "../loop/run-order.ts";
import type { RunPlan } from "../loop/run-plan.ts";
import { describeTools, listIds } from "../loop/to-plan.ts";
import { onAbort } from "../stream/abort.ts";
import { Bounds, type Work } from "../stream/bounds.ts";
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

/** The same. `begun` resolves when the run is set up and what it goes on with is on record; it rejects when the run cannot begin. */
export function beginRun(parts: RunParts, order: RunOrder): StartedRun & { readonly begun: Promise<void> } {
  const begun = Promise.withResolvers<void>();
  const { run, result } = startRun(parts, order, undefined, begun.resolve);
  // Whoever wants to know looks at one of the two.
  begun.promise.catch(() => {});
  result.catch(begun.reject);
  return { run, result, begun: begun.promise };
}

/** How often a thread is tried for whose holder turned out to be gone, or that was rewound while it was read. */
const MAX_HOLDS = 3;

/** The run has not begun, and there is something else to find now. */
const AGAIN: ReadonlySet<string> = new Set(["fence_lost", "message_version_conflict"]);

/** Holds the thread against other processes while the run is at work. One that nobody is at work on any more is taken from whoever had it. */
async function execute(ofRuntime: RunParts, run: ActiveRun, order: RunOrder, onBegun: (() => void) | undefined): Promise<LoopOutcome> {
  const { signal } = order;
  const bounds = new Bounds(run.controller.signal, ofRuntime);
  let off: (() => void) | undefined;
  bounds.hold();
  try {
    if (signal !== undefined) off = onAbort(signal, () => run.controller.abort(signal.reason));
    const parts = ofRuntime.boundTo(bounds);
    const { holds } = parts;
    // In the synchronous part of the call: what is registered from now on is not for this run.
    const init = { parts, ofRuntime, run, resolution: parts.resolver.open(), start: startRun };
    for (let tries = 1; ; tries++) {
      const held = holds === undefined ? order.holding : await holds.open(run, order.holding, order.isAwaited === true);
      let prepared: Prepared | undefined;
      let isOver = true;
      try {
        prepared = await prepare(init, { ...order, holding: held, isNewThread: tries === 1 ? order.isNewThread : undefined });
        onBegun?.();
        return await outcomeOf(parts, prepared.ctx, held, await runLoop(prepared.ctx));
      } catch (thrown) {
        if (order.holding !== undefined || !AwakenError.is(thrown) || !AGAIN.has(thrown.code) || tries === MAX_HOLDS) throw thrown;
        isOver = false;
        if (thrown.code === "fence_lost") await holds?.makeRoom(run.threadId);
      } finally {
        const closing = prepared === undefined ? undefined : close(parts, run, prepared, isOver);
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

/** A run that is set up, with what was opened for it and the runs that it left behind. */
interface Prepared {
  readonly ctx: RunContext;
  readonly tasks: readonly OpenedTasks[];
}

async function outcomeOf(parts: RunParts, ctx: RunContext, holding: Holding | undefined, ended: LoopOutcome): Promise<LoopOutcome> {
  const isLeftUnkept = !isLeft(ended) && !ended.isKept && holding?.isTriedAgain === true;
  if (isLeft(ended) || isLeftUnkept) return { ...(isLeft(ended) ? ended : leftUnkept(ended)), told: await toldOf(ctx, holding) };
  rememberOutput(parts, ctx, ended);
  if (parts.holds === undefined && ctx.identity.taskId !== undefined) await parts.more.tellOwner(parts, ctx.identity);
  return ended;
}

/** What was sent to a run that is begun once more is still in its inbox then. */
function close(parts: RunParts, run: ActiveRun, { ctx, tasks }: Prepared, isOver: boolean): Promise<void> | undefined {
  for (const each of tasks) each.close();
  return isOver && run.inbox.size > 0 ? keepUnread(parts, run, ctx) : undefined;
}

async function toldOf({ identity: { runId }, progress }: RunContext, holding: Holding | undefined): Promise<ToldRun> {
  const step = progress.current;
  return { runId, place: (await holding?.place?.()) ?? { type: "unknown" }, step };
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
async function prepare(init: RunInit, order: RunOrder): Promise<Prepared> {
  const { parts, run, resolution } = init;
  let tasks: readonly OpenedTasks[] = NO_TASKS;
  tellRefused(run, parts.tasks);
  const plans = new ResolvedPlans(init, isTask(order));
  const { ctx } = await takeUp({
    order,
    threadId: run.threadId,
    runId: run.runId,
    outputOf: (id) => parts.outputs.of(id),
    records: parts.records,
    resolve: (agentId) => plans.resolve(agentId),
    check: (plan) => checkBackend(parts, plan, order),
    defaultAgent: defaultAgent(resolution),
    ready: (agentId) => plans.ready(agentId),
    handles: {
      ...handlesOf(parts, run, plans),
      wayOut: order.holding?.wayOut,
      children: parts.more.children(init),
      tasks: (scene) => {
        const opened = parts.more.tasks(init, scene);
        // A list that is joined has room for its items alone; one that grows has room for sixteen.
        tasks = tasks.concat(opened);
        return opened;
      },
    },
    seldom,
    adopt: (id) => parts.active.adopt(run, id),
  });
  run.ctx = ctx;
  return { ctx, tasks };
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

function handlesOf(parts: RunParts, run: ActiveRun, plans: AgentPlans): TakeUp["handles"] {
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
