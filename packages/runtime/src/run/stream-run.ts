import {
  type MessageId,
  type RunActivation,
  type RunId,
  type RunIdentity,
  type RunIntent,
  runId,
  toJsonSchema,
  validate,
} from "@awaken/contract";
import type { LoopResult } from "../loop/finish.ts";
import { type Activation, openRun } from "../loop/open-run.ts";
import { NO_QUEUE } from "../loop/pending-port.ts";
import type { OutputSpec, RunOptions } from "../loop/run-context.ts";
import { runLoop, takeSeededDecisions } from "../loop/run-loop.ts";
import { ThreadWriter } from "../loop/thread-writer.ts";
import { onAbort } from "../stream/abort.ts";
import { frontendTool } from "../tool/frontend-tool.ts";
import type { ActiveRun } from "./active-runs.ts";
import { type LoadedThread, loadThread } from "./load-thread.ts";
import type { Listen, RunParts } from "./run-parts.ts";
import { checkRequest, newRunId, type RunIntentInput, type RunRequest, type RunResume, threadOf, toMessages } from "./run-request.ts";

/** How a run ended or where it waits. */
export interface RunResult<O = unknown> extends Omit<LoopResult, "output"> {
  /** The typed answer of a run that asked for one and got it. */
  readonly output: O | undefined;
}

/** A run that was accepted: its slot is taken, and it is under way. */
export interface StartedRun {
  readonly run: ActiveRun;
  readonly result: Promise<LoopResult>;
  /** Resolves when the run is set up and its decisions are taken; rejects when it cannot begin. */
  readonly begun: Promise<void>;
}

/** The output was checked by the schema that gave `O` its type. */
export function typedResult<O>(result: LoopResult): RunResult<O> {
  return result as RunResult<O>;
}

/** Takes the thread and starts; without a resume it is a new intent. Throws at once when the request is wrong or the thread is taken. */
export function startRun(parts: RunParts, request: RunRequest, resume: RunResume | undefined, listen: Listen | undefined): StartedRun {
  const intent: RunIntentInput = resume ?? { type: "new", runId: request.runId === undefined ? undefined : runId(request.runId) };
  checkRequest(request, intent);
  const threadId = threadOf(request, parts.ids);
  const run = parts.active.claim(threadId, intent.type === "resume" ? intent.runId : newRunId(request, parts.ids));
  const begun = Promise.withResolvers<void>();
  begun.promise.catch(() => {});
  const result = execute(parts, run, request, intent, listen, begun.resolve).finally(() => {
    parts.active.release(run);
  });
  result.catch(begun.reject);
  run.result = result;
  return { run, result, begun: begun.promise };
}

async function execute(
  parts: RunParts,
  run: ActiveRun,
  request: RunRequest,
  intent: RunIntentInput,
  listen: Listen | undefined,
  onBegun: () => void,
): Promise<LoopResult> {
  const off = request.signal === undefined ? undefined : onAbort(request.signal, () => run.controller.abort(request.signal?.reason));
  try {
    const resolution = parts.resolver.open();
    const loaded = await loadThread(parts.store, run.threadId, request, intent);
    if (loaded.resumed !== undefined) parts.active.adopt(run, loaded.resumed.runId);
    const activation = activate(parts, run, request, intent, loaded, resolution.resolve(loaded.actingAgentId));
    const ctx = openRun(activation, {
      signal: run.controller.signal,
      clock: parts.clock,
      ids: parts.ids,
      log: parts.log,
      listen: listener(run, parts, listen),
      inbox: run.inbox,
      decisions: run.decisions,
      boundary: NO_QUEUE,
      checkpoints: openWriter(parts, activation, loaded, request, intent),
      profileStore: parts.store?.profiles,
      replan: async (agentId) => resolution.resolve(agentId),
    });
    await takeSeededDecisions(ctx);
    onBegun();
    return await runLoop(ctx);
  } finally {
    off?.();
  }
}

/** A run that waits in memory is decided by what it told about its tickets. */
function listener(run: ActiveRun, parts: RunParts, listen: Listen | undefined): Listen | undefined {
  if (parts.store !== undefined) return listen;
  return (event) => {
    if (event.type === "run-end") run.tickets = event.tickets;
    listen?.(event);
  };
}

function identityOf(run: ActiveRun, request: RunRequest, intent: RunIntentInput, { agentId, resumed }: LoadedThread): RunIdentity {
  const { origin = "user", runMode, adapter = "internal", ...rest } = request.trace ?? {};
  const trace = resumed?.activation.trace ?? { origin, adapter, ...rest };
  return {
    ...(trace as Omit<RunIdentity, "threadId" | "runId" | "agentId" | "runMode">),
    threadId: run.threadId,
    runId: run.runId,
    agentId,
    runMode: runMode ?? (intent.type === "resume" ? "resume" : "foreground"),
  };
}

function outputSpec(request: RunRequest): OutputSpec | undefined {
  const { output } = request;
  return output === undefined ? undefined : { schema: toJsonSchema(output), validate: (value) => validate(output, value) };
}

function activate(
  parts: RunParts,
  run: ActiveRun,
  request: RunRequest,
  intent: RunIntentInput,
  loaded: LoadedThread,
  plan: Activation["plan"],
): Activation {
  const { resumed, history } = loaded;
  const stored = resumed?.activation.options;
  const options: RunOptions = {
    overrides: request.overrides ?? stored?.overrides,
    frontendTools: (request.frontendTools ?? stored?.frontendTools ?? []).map(frontendTool),
    output: outputSpec(request),
    isContinuation: resumed !== undefined && resumed.status !== "created",
    seededDecisions: intent.type === "resume" ? intent.decisions : [],
    waitsForDecisions: parts.store === undefined,
    cancelGraceMs: parts.cancelGraceMs,
  };
  return { identity: identityOf(run, request, intent, loaded), plan, history, input: toMessages(request.input, parts.ids), options };
}

const intentOf = (intent: RunIntentInput, resumed: RunId | undefined): RunIntent => {
  if (intent.type === "resume") return { type: "hitl-resume", runId: intent.runId };
  return resumed === undefined ? { type: "new-intent" } : { type: "continuation-from-run", runId: resumed };
};

function openWriter(
  parts: RunParts,
  activation: Activation,
  loaded: LoadedThread,
  request: RunRequest,
  intent: RunIntentInput,
): ThreadWriter | undefined {
  if (parts.store === undefined) return undefined;
  const { identity, options, input } = activation;
  const { threadId: _t, runId: _r, agentId: _a, dispatchId: _d, sessionId: _s, ...trace } = identity;
  const data: RunActivation = {
    intent: intentOf(intent, loaded.resumed?.runId),
    options: {
      frontendTools: request.frontendTools ?? loaded.resumed?.activation.options.frontendTools ?? [],
      ...(options.overrides === undefined ? {} : { overrides: options.overrides }),
    },
    trace,
    seededDecisions: [],
  };
  return new ThreadWriter({
    store: parts.store,
    identity,
    activation: data,
    input: input.map((message): MessageId => message.id),
    resumed: loaded.resumed,
    messageCount: loaded.history.messageCount,
    now: () => parts.clock.now(),
  });
}
