import { type AgentEvent, AwakenError, errorMessage, runId } from "@awaken/contract";
import { cancelTaskTool } from "../builtin/background/cancel-task-tool.ts";
import { isLeft, type LeftRun, type LoopOutcome, type LoopResult, type ToldRun } from "../loop/finish.ts";
import { type TakeUp, takeUp } from "../loop/resume/resume.ts";
import type { AgentPlans, RunContext } from "../loop/run-context.ts";
import { runLoop } from "../loop/run-loop.ts";
import type { RunOrder } from "../loop/run-order.ts";
import type { RunPlan } from "../loop/run-plan.ts";
import { describeTools, listIds } from "../loop/to-plan.ts";
import { onAbort } from "../stream/abort.ts";
import { Bounds, type Work } from "../stream/bounds.ts";
import type { Listen } from "../stream/listeners.ts";
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
export function startRun(parts: RunParts, order: RunOrder, listen?: Listen<AgentEvent>, onBegun?: () => void): StartedRun {
  if (parts.closing.aborted) throw new AwakenError("cancelled", "the runtime is closed");
  const run = parts.active.claim(order.threadId, order.intent.runId ?? order.newRunId ?? runId(parts.ids()));
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
  const { clock, limits, cancelGraceMs: graceMs } = ofRuntime;
  const bounds = new Bounds({ signal: run.controller.signal, clock, limits, graceMs });
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
      try {
        return await bringToEnd(init, { ...order, holding: held }, onBegun);
      } catch (thrown) {
        if (order.holding !== undefined || !AwakenError.is(thrown) || !AGAIN.has(thrown.code) || tries === MAX_HOLDS) throw thrown;
        if (thrown.code === "fence_lost") await holds?.makeRoom(run.threadId);
      } finally {
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

async function bringToEnd(init: RunInit, order: RunOrder, onBegun: (() => void) | undefined): Promise<LoopOutcome> {
  const { parts, run } = init;
  const opened: Opened = { tasks: NO_TASKS };
  const ctx = await prepare(init, order, opened);
  onBegun?.();
  try {
    const ended = await runLoop(ctx);
    const isLeftUnkept = !isLeft(ended) && !ended.isKept && order.holding?.isTriedAgain === true;
    if (isLeft(ended) || isLeftUnkept) return { ...(isLeft(ended) ? ended : leftUnkept(ended)), told: await toldOf(ctx, order) };
    rememberOutput(parts, ctx, ended);
    if (parts.holds === undefined && ctx.identity.taskId !== undefined) await parts.more.tellOwner(parts, ctx.identity);
    return ended;
  } finally {
    for (const tasks of opened.tasks) tasks.close();
    if (run.inbox.size > 0) await keepUnread(parts, run, ctx);
  }
}

async function toldOf({ identity: { runId }, progress }: RunContext, { holding }: RunOrder): Promise<ToldRun> {
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

/** A model whose run is a task of another thread can give it up, whatever its tools are. */
function inBackground(plan: RunPlan, { trace, intent }: RunOrder): RunPlan {
  const record = intent.type === "new" ? intent.created : intent.seen;
  if ((trace.taskId ?? record?.activation.trace.taskId) === undefined || plan.backend !== undefined || plan.tools.has(cancelTaskTool.id))
    return plan;
  const tools = new Map([...plan.tools, [cancelTaskTool.id, cancelTaskTool]]);
  const descriptors = describeTools(tools);
  return { ...plan, tools, descriptors, toolIds: listIds(descriptors) };
}

/** What was opened for a run and the runs that it left behind. */
interface Opened {
  tasks: readonly OpenedTasks[];
}

const NO_TASKS: readonly OpenedTasks[] = Object.freeze([]);

/** Everything before the loop. What throws here leaves the run as it was on record. */
async function prepare(init: RunInit, order: RunOrder, opened: Opened): Promise<RunContext> {
  const { parts, run, resolution } = init;
  tellRefused(run, parts.tasks);
  const plans = new ResolvedPlans(init, order);
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
        const tasks = parts.more.tasks(init, scene);
        opened.tasks = opened.tasks.concat(tasks);
        return tasks;
      },
    },
    seldom,
    adopt: (id) => parts.active.adopt(run, id),
  });
  run.ctx = ctx;
  return ctx;
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
  readonly #order: RunOrder;

  constructor(init: RunInit, order: RunOrder) {
    this.#init = init;
    this.#order = order;
  }

  /** A runtime that nobody initialized opens the plugins of an agent when it is first needed. */
  ready(agentId: string): Promise<void> | undefined {
    const { parts, resolution } = this.#init;
    const opening = resolution.ready(agentId);
    return opening === undefined ? undefined : parts.bounds.wait(opening, OPENING);
  }

  resolve(agentId: string): RunPlan {
    return inBackground(this.#init.resolution.resolve(agentId), this.#order);
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
