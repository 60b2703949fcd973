import { type AgentEvent, AwakenError, errorMessage, runId } from "@awaken/contract";
import { cancelTaskTool } from "../builtin/background/cancel-task-tool.ts";
import { isLeft, type LeftRun, type LoopOutcome, type LoopResult, type ToldRun } from "../loop/finish.ts";
import { type TakeUp, takeUp } from "../loop/resume/resume.ts";
import type { RunContext } from "../loop/run-context.ts";
import { runLoop } from "../loop/run-loop.ts";
import type { RunOrder } from "../loop/run-order.ts";
import type { RunPlan } from "../loop/run-plan.ts";
import { describeTools, listIds } from "../loop/to-plan.ts";
import type { Resolution } from "../resolve/resolver.ts";
import { onAbort } from "../stream/abort.ts";
import { Bounds, type Work } from "../stream/bounds.ts";
import type { Listen } from "../stream/listeners.ts";
import type { ActiveRun } from "./active-runs.ts";
import { defaultAgent } from "./default-agent.ts";
import type { OpenedTasks, RunParts } from "./run-parts.ts";
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

async function execute(parts: RunParts, run: ActiveRun, order: RunOrder, onBegun: (() => void) | undefined): Promise<LoopOutcome> {
  const { signal } = order;
  let off: (() => void) | undefined;
  let letGo: (() => void) | undefined;
  try {
    if (signal !== undefined) off = onAbort(signal, () => run.controller.abort(signal.reason));
    const { clock, limits, cancelGraceMs: graceMs } = parts;
    const bounds = new Bounds({ signal: run.controller.signal, clock, limits, graceMs });
    letGo = bounds.hold();
    const bound = parts.boundTo(bounds);
    return await holding({ parts: bound, ofRuntime: parts }, run, order, onBegun);
  } finally {
    off?.();
    letGo?.();
    parts.active.release(run);
  }
}

/** How often a thread is tried for whose holder turned out to be gone, or that was rewound while it was read. */
const MAX_HOLDS = 3;

/** The run has not begun, and there is something else to find now. */
const AGAIN: ReadonlySet<string> = new Set(["fence_lost", "message_version_conflict"]);

/** What a run works with, and what that which it leaves behind works with. */
interface PartsOfRun {
  readonly parts: RunParts;
  readonly ofRuntime: RunParts;
}

/** The same, with what was registered when the run began. */
interface ResolvedParts extends PartsOfRun {
  readonly resolution: Resolution;
}

/** Holds the thread against other processes while the run is at work. One that nobody is at work on any more is taken from whoever had it. */
async function holding(both: PartsOfRun, run: ActiveRun, order: RunOrder, onBegun: (() => void) | undefined): Promise<LoopOutcome> {
  const { holds, resolver } = both.parts;
  // In the synchronous part of the call: what is registered from now on is not for this run.
  const resolution = resolver.open();
  for (let tries = 1; ; tries++) {
    const held = holds === undefined ? order.holding : await holds.open(run, order.holding, order.isAwaited === true);
    try {
      return await bringToEnd({ ...both, resolution }, run, { ...order, holding: held }, onBegun);
    } catch (thrown) {
      if (order.holding !== undefined || !AwakenError.is(thrown) || !AGAIN.has(thrown.code) || tries === MAX_HOLDS) throw thrown;
      if (thrown.code === "fence_lost") await holds?.makeRoom(run.threadId);
    } finally {
      const leaving = held === undefined ? undefined : holds?.leave(held);
      if (leaving !== undefined) await leaving;
    }
  }
}

async function bringToEnd(
  { parts, ofRuntime, resolution }: ResolvedParts,
  run: ActiveRun,
  order: RunOrder,
  onBegun: (() => void) | undefined,
): Promise<LoopOutcome> {
  const opened: OpenedTasks[] = [];
  const ctx = await prepare({ parts, ofRuntime, resolution }, run, order, opened);
  onBegun?.();
  try {
    const ended = await runLoop(ctx);
    const isLeftUnkept = !isLeft(ended) && !ended.isKept && order.holding?.isTriedAgain === true;
    if (isLeft(ended) || isLeftUnkept) return { ...(isLeft(ended) ? ended : leftUnkept(ended)), told: await toldOf(ctx, order) };
    rememberOutput(parts, ctx, ended);
    if (parts.holds === undefined && ctx.identity.taskId !== undefined) await parts.more.tellOwner(parts, ctx.identity);
    return ended;
  } finally {
    for (const tasks of opened) tasks.close();
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

/** Everything before the loop. What throws here leaves the run as it was on record. */
async function prepare(
  { parts, ofRuntime, resolution }: ResolvedParts,
  run: ActiveRun,
  order: RunOrder,
  opened: OpenedTasks[],
): Promise<RunContext> {
  run.inbox.onRefused = (item) => {
    if (item.type === "task") parts.tasks.tell(run.threadId, item.event);
  };
  const resolve = (agentId: string): RunPlan => inBackground(resolution.resolve(agentId), order);
  const ready = (agentId: string): Promise<void> | undefined => openPlugins(parts, resolution, agentId);
  const { ctx } = await takeUp({
    order,
    threadId: run.threadId,
    runId: run.runId,
    outputOf: (id) => parts.outputs.of(id),
    records: parts.records,
    resolve,
    check: (plan) => checkBackend(parts, plan, order),
    defaultAgent: defaultAgent(resolution),
    ready,
    handles: {
      ...handlesOf(parts, run, async (agentId) => {
        await ready(agentId);
        return resolve(agentId);
      }),
      wayOut: order.holding?.wayOut,
      children: parts.more.children(parts, run, resolution, startRun),
      tasks: (scene) => {
        const cancelRun = () => run.cancel("the run cancelled itself");
        const tasks = parts.more.tasks({ parts: ofRuntime, resolution, start: startRun, scene, cancelRun });
        opened.push(tasks);
        return tasks;
      },
    },
    seldom,
    adopt: (id) => parts.active.adopt(run, id),
  });
  run.ctx = ctx;
  return ctx;
}

const OPENING: Work = { limit: "initializeMs", onAbort: "leave", name: () => "a plugin that the runtime initializes" };

/** A runtime that nobody initialized opens the plugins of an agent when it is first needed. */
function openPlugins({ bounds }: RunParts, resolution: Resolution, agentId: string): Promise<void> | undefined {
  const opening = resolution.ready(agentId);
  return opening === undefined ? undefined : bounds.wait(opening, OPENING);
}

function handlesOf(parts: RunParts, run: ActiveRun, replan: RunContext["replan"]): TakeUp["handles"] {
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
    replan,
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
