import {
  type AgentEvent,
  AwakenError,
  errorMessage,
  type JsonValue,
  type RunId,
  runId,
  type Schema,
  type ThreadId,
  threadId,
  toJsonSchema,
  type Validated,
  validate,
} from "@awaken/contract";
import type { Activation, RunHandles } from "../loop/activation.ts";
import type { Checkpoint, CheckpointPort } from "../loop/commit.ts";
import type { LoopResult } from "../loop/finish.ts";
import { openRun } from "../loop/open-run.ts";
import { NO_QUEUE } from "../loop/pending-port.ts";
import { isSuperseding } from "../loop/resume/supersede.ts";
import type { RunContext } from "../loop/run-context.ts";
import { runLoop, takeSeededDecisions } from "../loop/run-loop.ts";
import type { RunPlan } from "../loop/run-plan.ts";
import type { ThreadWriter } from "../loop/thread-writer.ts";
import type { Resolution } from "../resolve/resolver.ts";
import type { Reading } from "../state/persist.ts";
import { onAbort } from "../stream/abort.ts";
import { Bounds, type Work } from "../stream/bounds.ts";
import type { Listen } from "../stream/listeners.ts";
import { activate, openWriter } from "./activate.ts";
import type { ActiveRun } from "./active-runs.ts";
import { closeLeft } from "./close-left.ts";
import { defaultAgent } from "./default-agent.ts";
import { endingPlan } from "./ending-plan.ts";
import type { LiveOutput } from "./live-outputs.ts";
import { type LeftRun, type LoadedThread, loadThread } from "./load-thread.ts";
import type { RunParts } from "./run-parts.ts";
import { type RunOrder, type RunRequest, readRequest } from "./run-request.ts";
import { type RunResult, toRunResult } from "./run-result.ts";

/** A run that was accepted: its slot is taken, and it is under way. */
export interface StartedRun {
  readonly run: ActiveRun;
  readonly result: Promise<LoopResult>;
}

/** Takes the thread, in the synchronous part of the call, and starts. Throws when the thread is taken. */
export function startRun(parts: RunParts, order: RunOrder, listen?: Listen<AgentEvent>, onBegun?: () => void): StartedRun {
  if (parts.closing.aborted) throw new AwakenError("cancelled", "the runtime is closed");
  const run = parts.active.claim(order.threadId, order.intent.runId ?? runId(parts.ids()));
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

/** A request on its way: refused ones have ids too, so that there is one way to tell what became of them. */
export interface StartedRequest<O> {
  readonly run: { readonly runId: RunId; readonly threadId: ThreadId };
  readonly result: Promise<RunResult<O>>;
}

/** Never throws: whatever is wrong with the request is the result's rejection. */
export function startRequest<O>(parts: RunParts, request: RunRequest<O>, listen?: Listen<AgentEvent>): StartedRequest<O> {
  let order: RunOrder | undefined;
  try {
    order = readRequest(request, parts.ids, parts.clock);
    const output = new TypedOutput(request.output);
    const { run, result } = startRun(parts, output.spec === undefined ? order : { ...order, output: output.spec }, listen);
    return { run, result: result.then((ended) => toRunResult(ended, (recorded) => output.read(recorded))) };
  } catch (thrown) {
    const refused = { runId: runId(parts.ids()), threadId: order?.threadId ?? threadId(parts.ids()) };
    return { run: refused, result: Promise.reject<RunResult<O>>(thrown) };
  }
}

/** Without a schema nobody said what the answer is: its type is that of anything. */
const isUnasked = <O>(schema: Schema<O> | undefined, _value: unknown): _value is O => schema === undefined;

/** Keeps the answer as the schema gave it: what is recorded of it is JSON, and its type is gone. */
class TypedOutput<O> {
  readonly spec: LiveOutput | undefined;
  readonly #schema: Schema<O> | undefined;
  #settled: { readonly value: O } | undefined;

  constructor(schema: Schema<O> | undefined) {
    this.#schema = schema;
    this.spec = schema === undefined ? undefined : { schema: toJsonSchema(schema), validate: (value) => this.#check(schema, value) };
  }

  /** Of a run that is done. One that goes on may have been asked for an answer before: then it is that of its record. */
  read(recorded: JsonValue | undefined): O {
    if (this.#settled !== undefined) return this.#settled.value;
    if (isUnasked(this.#schema, recorded)) return recorded;
    throw new AwakenError("internal", "a run with a typed answer is done without one");
  }

  async #check(schema: Schema<O>, value: unknown): Promise<Validated<O>> {
    const checked = await validate(schema, value);
    this.#settled = checked.type === "valid" ? { value: checked.value } : undefined;
    return checked;
  }
}

async function execute(parts: RunParts, run: ActiveRun, order: RunOrder, onBegun: (() => void) | undefined): Promise<LoopResult> {
  const { signal } = order;
  let off: (() => void) | undefined;
  try {
    if (signal !== undefined) off = onAbort(signal, () => run.controller.abort(signal.reason));
    const { clock, limits, cancelGraceMs: graceMs } = parts;
    const bounds = new Bounds({ signal: run.controller.signal, clock, limits, graceMs });
    const { ctx, writer } = await prepare(parts.boundTo(bounds), run, order);
    onBegun?.();
    try {
      const ended = await runLoop(ctx);
      rememberOutput(parts, ctx, ended);
      return ended;
    } finally {
      if (run.inbox.size > 0) await keepUnread(run, ctx, writer);
    }
  } finally {
    off?.();
    parts.active.release(run);
  }
}

/** The code that checks the answer is at hand as long as the run waits here. */
function rememberOutput({ outputs }: RunParts, { options: { output }, identity: { runId } }: RunContext, { status }: LoopResult): void {
  if (output === undefined) return;
  if (status === "waiting") outputs.keep(runId, output);
  else outputs.forget(runId);
}

/** Everything before the loop. What throws here leaves the run as it was on record. */
async function prepare(parts: RunParts, run: ActiveRun, order: RunOrder) {
  const resolution = parts.resolver.open();
  const fallback = defaultAgent(resolution);
  let loaded = await loadThread(parts.records, order, fallback);
  const opening = openPlugins(parts, resolution, loaded.actingAgentId);
  if (opening !== undefined) await opening;
  let opened = open(parts, run, order, loaded, resolution);
  for (let left = leftBehind(loaded, opened); left !== undefined; left = leftBehind(loaded, opened)) {
    await closeLeft(parts, run, order, { left, resolution, plan: opened.activation.plan });
    loaded = await loadThread(parts.records, order, fallback);
    opened = open(parts, run, order, loaded, resolution);
  }
  const { ctx, writer } = opened;
  const { resumed } = loaded;
  if (resumed !== undefined) parts.active.adopt(run, resumed.runId);
  await takeSeededDecisions(ctx);
  // Decisions are on record before anything comes of them, and of two who take the run up only one gets past this.
  if (resumed !== undefined) await ctx.checkpoints.write();
  run.ctx = ctx;
  return { ctx, writer };
}

const OPENING: Work = { limit: "initializeMs", onAbort: "leave", name: () => "a plugin that the runtime initializes" };

/** A runtime that nobody initialized opens the plugins of an agent when it is first needed. */
function openPlugins({ bounds }: RunParts, resolution: Resolution, agentId: string): Promise<void> | undefined {
  const opening = resolution.ready(agentId);
  return opening === undefined ? undefined : bounds.wait(opening, OPENING);
}

/** A run that was cut off is over when another one begins; one that waits only when a user message leaves it nothing to wait for. */
function leftBehind({ left }: LoadedThread, { activation }: OpenedRun): LeftRun | undefined {
  return left?.status === "waiting" && !isSuperseding(activation) ? undefined : left;
}

/** With the plan of its agent. A run that is only to be ended needs none: without one it is ended from its records, and no hook runs. */
function open(parts: RunParts, run: ActiveRun, order: RunOrder, loaded: LoadedThread, resolution: Resolution): OpenedRun {
  const { actingAgentId } = loaded;
  const openWith = (plan: RunPlan, reading: Reading) => {
    const activation = { ...activate(parts, run, order, loaded, plan), reading };
    const writer = openWriter(parts, activation, order, loaded);
    return { activation, writer, ctx: openRun(activation, handlesOf(parts, run, resolution, writer)) };
  };
  try {
    return openWith(resolution.resolve(actingAgentId), "as-key-says");
  } catch (thrown) {
    if (order.isEnding === undefined) throw thrown;
    parts.log.warn(`run '${run.runId}' is ended without the hooks of its agent: ${errorMessage(thrown)}`, { runId: run.runId });
    return openWith(endingPlan(actingAgentId), "lenient");
  }
}

interface OpenedRun {
  readonly activation: Activation;
  readonly writer: ThreadWriter;
  readonly ctx: RunContext;
}

function handlesOf(parts: RunParts, run: ActiveRun, resolution: Resolution, writer: ThreadWriter): RunHandles {
  return {
    signal: run.controller.signal,
    clock: parts.clock,
    bounds: parts.bounds,
    ids: parts.ids,
    log: parts.log,
    listeners: run.listeners,
    inbox: run.inbox,
    decisions: run.decisions,
    boundary: NO_QUEUE,
    checkpoints: new Recording(writer),
    profileStore: parts.profiles,
    streams: parts.streams,
    replan: async (agentId) => {
      await openPlugins(parts, resolution, agentId);
      return resolution.resolve(agentId);
    },
  };
}

/**
 * A record says that its run waits only when the run has left: until then a decision may still let it go on here, and nobody else
 * may take it up.
 */
class Recording implements CheckpointPort {
  readonly #writer: ThreadWriter;

  constructor(writer: ThreadWriter) {
    this.#writer = writer;
  }

  write(checkpoint: Checkpoint): ReturnType<CheckpointPort["write"]> {
    const { lifecycle, ending } = checkpoint;
    if (lifecycle.status !== "waiting" || ending !== undefined) return this.#writer.write(checkpoint);
    return this.#writer.write({ ...checkpoint, lifecycle: { ...lifecycle, status: "running" } });
  }
}

/** Messages that were accepted too late for the model to read are in the log for whoever goes on with the thread. Never rejects. */
async function keepUnread({ inbox }: ActiveRun, { log, identity }: RunContext, writer: ThreadWriter): Promise<void> {
  const unread = inbox.drain().flatMap((item) => (item.type === "messages" ? item.messages : []));
  if (unread.length === 0) return;
  try {
    await writer.append(unread);
  } catch (thrown) {
    log.error(`${unread.length} messages could not be kept: ${errorMessage(thrown)}`, { runId: identity.runId });
  }
}
