import { type AgentEvent, AwakenError, type Message, type RunId, runId } from "@awaken/contract";
import { cancelTaskTool } from "../builtin/background/cancel-task-tool.ts";
import type { Holding } from "../commit/holding.ts";
import { attempt, isLeft, type LoopOutcome, type LoopResult } from "../loop/finish.ts";
import { type TakeUp, takeUp } from "../loop/resume/resume.ts";
import type { AgentPlans, RunContext } from "../loop/run-context.ts";
import { type Begun, beginLoop, type RunHost, runFrom } from "../loop/run-loop.ts";
import type { RunOrder } from "../loop/run-order.ts";
import type { RunPlan } from "../loop/run-plan.ts";
import { describeTools, listIds } from "../loop/to-plan.ts";
import type { Resolution } from "../resolve/resolver.ts";
import { onAbort } from "../stream/abort.ts";
import { Bounds, type Work } from "../stream/bounds.ts";
import { checkOpen } from "../stream/closed.ts";
import { type Late, whenThere } from "../stream/door.ts";
import type { Ear, Listen } from "../stream/listeners.ts";
import type { ActiveRun } from "./active-runs.ts";
import { defaultAgent } from "./default-agent.ts";
import type { OpenedTasks, RunInit, RunParts, StartRun, TenantParts } from "./run-parts.ts";
import { seldom } from "./seldom-door.ts";

/** A run that was accepted: its slot is taken, and it is under way. */
export interface StartedRun {
  readonly run: ActiveRun;
  readonly result: Promise<LoopOutcome>;
}

/** Takes the thread, in the synchronous part of the call, and starts. Throws when the thread is taken. */
export function startRun(
  parts: TenantParts,
  order: RunOrder,
  listen?: Listen<AgentEvent> | Ear<AgentEvent>,
  onBegun?: () => void,
): StartedRun {
  checkOpen(parts.closing);
  const known = order.intent.runId ?? order.newRunId;
  const run = parts.active.claim(order.threadId, known ?? runId(parts.ids()));
  run.isNew = known === undefined && order.isNewThread === true;
  if (listen !== undefined) run.listeners.add(listen);
  const result = runFrom(new Execution(parts, run, order, onBegun));
  run.result = result;
  return { run, result };
}

/** How often a thread is tried for whose holder turned out to be gone, or that was rewound while it was read. */
const MAX_HOLDS = 3;

/** The run has not begun, and there is something else to find now. */
const AGAIN: ReadonlySet<string> = new Set(["fence_lost", "message_version_conflict"]);

/** Apart from the frame below: what a closure sees is kept for each run that waits there. */
const cancelWith = ({ controller }: ActiveRun, signal: AbortSignal): (() => void) => onAbort(signal, () => controller.abort(signal.reason));

const OPENING: Work = { limit: "initializeMs", onAbort: "leave", name: () => "a plugin that the runtime initializes" };

/** One run at work in this process: what the parts around the loop know of it, in one object. */
class Execution implements RunInit, AgentPlans, RunHost {
  readonly #tenant: TenantParts;
  #all: RunParts | undefined;
  readonly run: ActiveRun;
  readonly #claimed: RunId;
  tasks: OpenedTasks | undefined;
  readonly #bounds: Bounds;
  readonly #isTask: boolean;
  #resolution: Resolution | undefined;
  /** Undefined when the run is on record: one that waits does not keep what it was asked with (0.25 KiB). */
  #order: RunOrder | undefined;
  readonly #onBegun: (() => void) | undefined;
  #held: Holding | undefined;
  #off: (() => void) | undefined;

  constructor(tenant: TenantParts, run: ActiveRun, order: RunOrder, onBegun: (() => void) | undefined) {
    this.#tenant = tenant;
    this.run = run;
    this.#claimed = run.runId;
    this.#bounds = new Bounds(run.controller, tenant);
    this.#isTask = isTask(order);
    this.#order = order;
    this.#onBegun = onBegun;
  }

  /** There as soon as the thread is held. */
  get ofRuntime(): RunParts {
    if (this.#all === undefined) throw new AwakenError("internal", "the run has not begun");
    return this.#all;
  }

  /** Made for whoever asks: most runs ask once, before they begin, and would keep them for nothing (0.2 KiB). */
  get parts(): RunParts {
    return this.ofRuntime.boundTo(this.#bounds);
  }

  get resolution(): Resolution {
    this.#resolution ??= this.#tenant.resolver.open();
    return this.#resolution;
  }

  get start(): StartRun {
    return startRun;
  }

  /** A runtime that nobody initialized opens the plugins of an agent when it is first needed. */
  ready(agentId: string): Promise<void> | undefined {
    const opening = this.resolution.ready(agentId);
    return opening === undefined ? undefined : this.#bounds.wait(opening, OPENING);
  }

  resolve(agentId: string): RunPlan {
    const plan = this.resolution.resolve(agentId);
    return this.#isTask ? inBackground(plan) : plan;
  }

  async replan(agentId: string): Promise<RunPlan> {
    await this.ready(agentId);
    return this.resolve(agentId);
  }

  /** Holds the thread against other processes while the run is at work. One that nobody is at work on any more is taken from whoever had it. */
  async begin(): Promise<Begun> {
    this.#bounds.hold();
    try {
      const { signal } = this.#asked;
      if (signal !== undefined) this.#off = cancelWith(this.run, signal);
      // In the synchronous part of the call: what is registered from now on is not for this run.
      this.#resolution = this.#tenant.resolver.open();
      for (let tries = 1; ; tries++) {
        // Whoever starts a run has it in his hands before anything happens in it.
        this.#held = await this.#hold();
        let ctx: RunContext | undefined;
        try {
          const preparing = prepare(this, this.#orderOf(tries));
          ctx = preparing instanceof Promise ? await preparing : preparing;
          this.run.ctx = ctx;
          this.#onBegun?.();
          const beginning = beginLoop(ctx);
          const begun = beginning instanceof Promise ? await beginning : beginning;
          this.#order = undefined;
          return begun;
        } catch (thrown) {
          const again = tries === MAX_HOLDS ? undefined : this.#againFor(thrown);
          // Whoever decides meanwhile is not to do so with what this try has read.
          if (again === undefined) this.run.drop();
          else this.ofRuntime.active.disown(this.run, this.#claimed);
          try {
            if (again === undefined) throw thrown;
            if (again.code === "fence_lost") await this.ofRuntime.holds?.makeRoom(this.run.threadId);
          } finally {
            await this.#close(ctx, again === undefined);
          }
        }
      }
    } catch (thrown) {
      this.#release();
      throw thrown;
    }
  }

  outcomeOf(ctx: RunContext, ended: LoopOutcome): Late<LoopOutcome> {
    const { ofRuntime } = this;
    const holding = this.#held;
    if (isLeft(ended) || (!ended.isKept && holding?.isTriedAgain === true)) return ofRuntime.more.left(ended, ctx, holding);
    rememberOutput(ofRuntime, ctx, ended);
    const isUntold = ofRuntime.holds === undefined && ctx.identity.taskId !== undefined;
    return isUntold ? ofRuntime.more.tellOwner(this.parts, ctx.identity).then(() => ended) : ended;
  }

  left(ctx: RunContext): Promise<void> | undefined {
    let closing: Promise<void> | undefined;
    try {
      closing = this.#close(ctx, true);
    } finally {
      if (closing === undefined) this.#release();
    }
    return closing?.finally(() => this.#release());
  }

  /** What was sent to a run that is begun once more is still in its inbox then. What came too late is kept with what is loaded: it was accepted. */
  #close(ctx: RunContext | undefined, isOver: boolean): Promise<void> | undefined {
    if (ctx === undefined) return this.#giveBack();
    const { run, tasks } = this;
    this.tasks = undefined;
    tasks?.close();
    // What comes from here on is told to be too late, by whoever sends it.
    if (isOver) run.inbox.close();
    return isOver && run.inbox.size > 0 ? this.#keepUnread(ctx) : this.#giveBack();
  }

  async #keepUnread(ctx: RunContext): Promise<void> {
    try {
      await attempt(ctx, "messages could not be kept", () => keepUnread(this.ofRuntime, this.run, ctx));
    } finally {
      await this.#giveBack();
    }
  }

  #giveBack(): Promise<void> | undefined {
    return this.#held === undefined ? undefined : this.ofRuntime.holds?.leave(this.#held);
  }

  #release(): void {
    this.#off?.();
    this.#bounds.letGo();
    this.#tenant.active.release(this.run);
  }

  #hold(): Late<Holding | undefined> {
    return whenThere(this.#tenant.all(), (all) => this.#holdIn(all));
  }

  #holdIn(all: RunParts): Late<Holding | undefined> {
    this.#all = all;
    const { holds } = all;
    const { holding, isAwaited } = this.#asked;
    return holds === undefined ? holding : holds.open(this.run, holding, isAwaited === true);
  }

  #orderOf(tries: number): RunOrder {
    const order = this.#asked;
    return { ...order, holding: this.#held, isNewThread: tries === 1 ? order.isNewThread : undefined };
  }

  get #asked(): RunOrder {
    if (this.#order === undefined) throw new AwakenError("internal", "the run has begun");
    return this.#order;
  }

  /** Why the run that has not begun is to begin once more. What was given to it with a dispatch is not its own to take again. */
  #againFor(thrown: unknown): AwakenError | undefined {
    if (this.#order === undefined || this.#order.holding !== undefined) return undefined;
    return AwakenError.is(thrown) && AGAIN.has(thrown.code) ? thrown : undefined;
  }
}

/** Messages that nobody has read are in the log for whoever goes on with the thread; news of tasks are told again. */
function keepUnread({ tasks }: RunParts, { inbox, threadId }: ActiveRun, { writer }: RunContext): Late<void> {
  const unread: Message[] = [];
  for (const item of inbox.drain()) {
    if (item.type === "task") tasks.tell(threadId, item.event);
    else if (item.type === "messages") unread.push(...item.messages);
  }
  return unread.length > 0 ? writer.append(unread) : undefined;
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

/** Everything before the loop. What throws here leaves the run as it was on record. */
function prepare(init: Execution, order: RunOrder): Late<RunContext> {
  const { parts, run, resolution } = init;
  run.inbox.late = parts.tasks;
  return takeUp({
    order,
    threadId: run.threadId,
    runId: run.runId,
    outputOf: (id) => parts.outputs.of(id),
    records: parts.records,
    resolve: (agentId) => init.resolve(agentId),
    check: (plan) => checkBackend(parts, plan, order),
    defaultAgent: defaultAgent(resolution),
    ready: (agentId) => init.ready(agentId),
    handles: handlesOf(init, parts, order),
    seldom,
    adopt: (id) => parts.active.adopt(run, id),
  });
}

function handlesOf(init: Execution, parts: RunParts, order: RunOrder): TakeUp["handles"] {
  const { run } = init;
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
    plans: init,
    wayOut: order.holding?.wayOut,
    children: parts.more.children(init),
    tasks: (scene) => {
      init.tasks = parts.more.tasks(init, scene);
      return init.tasks;
    },
  };
}
