import { type AgentEvent, type AssistantContent, freezeJson, type InferenceRequest, type MessageId, type Turn } from "@awaken/contract";
import type { Collector } from "../inference/collector.ts";
import { type CallFacts, type InferenceRun, type Inferred, infer } from "../inference/infer.ts";
import { seldom as inferenceSeldom } from "../inference/seldom-door.ts";
import type { PhaseOutcome } from "../phase/whole-phase-parts.ts";
import { assemblePrompt } from "../prompt/assemble.ts";
import { applyTransforms, type Prompt } from "../prompt/request.ts";
import { runLifecycle, terminationOf } from "../state/run-lifecycle.ts";
import { childController, onAbort } from "../stream/abort.ts";
import { type Late, whenThere } from "../stream/door.ts";
import type { LiveCall } from "./live-call.ts";
import { assistantMessage } from "./messages.ts";
import type { RunContext } from "./run-context.ts";
import type { StepOutcome } from "./step-outcome.ts";
import { type RoundOutcome, runToolRound } from "./tool-round.ts";

const CONTINUE: StepOutcome = { type: "continue" };
const NATURAL_END: StepOutcome = { type: "natural-end" };
const CANCELLED: StepOutcome = { type: "ended", termination: { type: "cancelled" } };

/** What the run's own state says: a hook may have ended it. */
function ending(ctx: RunContext): StepOutcome | undefined {
  const termination = terminationOf(ctx.state.get(runLifecycle));
  return termination === undefined ? undefined : { type: "ended", termination };
}

/** A phase before the model is asked. A hook may end the step. */
function runBefore(ctx: RunContext, phase: "stepStart" | "beforeInference"): Late<StepOutcome | undefined> {
  return whenThere(ctx.phases.run(phase, { step: ctx.tally.steps }), (outcome) => (outcome === "cancelled" ? CANCELLED : ending(ctx)));
}

/** What the model is asked in this step, at once where no hook is waited for. */
export function prepareStep(ctx: RunContext, messageId: MessageId): Late<Prompt | StepOutcome> {
  return whenThere(
    runBefore(ctx, "stepStart"),
    (ended) => ended ?? whenThere(runBefore(ctx, "beforeInference"), (endedLate) => endedLate ?? preparePrompt(ctx, messageId)),
  );
}

/** Filters and overrides are of one step. */
function preparePrompt(ctx: RunContext, messageId: MessageId): Late<Prompt> {
  return whenThere(makePrompt(ctx, messageId), (prompt) => cleanUp(ctx, prompt));
}

function cleanUp(ctx: RunContext, made: Prompt): Late<Prompt> {
  const { plan, requestLimit } = ctx.active;
  const { request, cleanup } = made;
  const prompt = requestLimit?.plan === plan ? { ...made, request: { ...request, messages: requestLimit.fit(request.messages) } } : made;
  return cleanup === undefined ? prompt : ctx.phases.submit(cleanup).then(() => prompt);
}

/** What comes of the answer: its tool calls, and whether the run goes on. */
export function endStep(ctx: RunContext, messageId: MessageId, { offeredTools }: Prompt, inferred: Inferred): Late<StepOutcome> {
  const { turn } = inferred;
  const left = leaves(ctx, inferred);
  if (left !== undefined) return left;
  count(ctx, turn);
  if (ctx.signal.aborted) return keepText(ctx, messageId, inferred, CANCELLED);
  // What comes of it is read after hooks of others have seen it. Otherwise its message is all that is kept of it (2 % of W3).
  if (!ctx.active.plan.env.isOwn) freezeJson(turn);
  const goOn = (outcome: PhaseOutcome): Late<StepOutcome> => {
    const ended = outcome === "cancelled" ? CANCELLED : (ending(ctx) ?? failed(turn));
    return ended === undefined ? doAsked(ctx, messageId, inferred) : keepText(ctx, messageId, inferred, ended);
  };
  const failedAfter = (thrown: unknown): never => {
    // Listeners have heard it already.
    keepText(ctx, messageId, inferred, CANCELLED);
    throw thrown;
  };
  let after: Late<PhaseOutcome>;
  try {
    after = ctx.phases.run("afterInference", { step: ctx.tally.steps, turn, offeredTools });
  } catch (thrown) {
    return failedAfter(thrown);
  }
  return after instanceof Promise ? after.then(goOn, failedAfter) : goOn(after);
}

/** The run goes on with the turn. */
function doAsked(ctx: RunContext, messageId: MessageId, inferred: Inferred): Late<StepOutcome> {
  const { toolCalls, malformedCalls } = inferred.turn;
  const isLost = inferred.lostCall !== undefined || malformedCalls.length > 0;
  const done = toolCalls.length === 0 ? concede(ctx, messageId, inferred) : callTools(ctx, messageId, inferred);
  if (!isLost) return done;
  return whenThere(done, (outcome) => {
    if (outcome === OUT_OF_TOKENS) return outcome;
    return whenThere(ctx.seldom.open(), (room) => {
      room.tellLost(ctx, inferred);
      return outcome;
    });
  });
}

function callTools(ctx: RunContext, messageId: MessageId, inferred: Inferred): Promise<StepOutcome> {
  say(ctx, messageId, inferred, inferred.turn.content);
  const calls: LiveCall[] = [];
  for (const call of inferred.turn.toolCalls) calls.push({ call, messageId, resume: undefined, isReplay: false });
  return runToolRound(ctx, calls).then((round) => conclude(ctx, round));
}

function makePrompt(ctx: RunContext, messageId: MessageId): Late<Prompt> {
  const { plan, descriptors, toolIds } = ctx.active;
  const { threadId, runId } = ctx.identity;
  return assemblePrompt({
    agent: plan.agent,
    model: plan.model.upstream,
    tools: descriptors,
    toolIds,
    messages: ctx.transcript.messages,
    state: ctx.state,
    transforms: plan.env.transforms,
    runOverrides: ctx.options.overrides,
    frontendContext: ctx.options.frontendContext,
    canOverrideModel: plan.provider.canOverrideModel ?? true,
    maxOutputTokens: plan.model.maxOutputTokens,
    routing: { threadId, runId, inferenceId: messageId },
    responseFormat: ctx.options.output === undefined ? undefined : { schema: ctx.options.output },
    run: ctx,
  });
}

/** The inference of a step: what it needs of the run it asks the run for. */
class StepInference implements InferenceRun {
  readonly #ctx: RunContext;
  readonly request: InferenceRequest;
  readonly signal: AbortSignal;

  constructor(ctx: RunContext, request: InferenceRequest, signal: AbortSignal) {
    this.#ctx = ctx;
    this.request = request;
    this.signal = signal;
  }

  get source(): InferenceRun["source"] {
    return this.signal === this.#ctx.signal ? this.#ctx.bounds.source : undefined;
  }

  get provider(): InferenceRun["provider"] {
    return this.#ctx.active.plan.provider;
  }

  get policy(): InferenceRun["policy"] {
    return this.#ctx.active.plan.policy;
  }

  get clock(): InferenceRun["clock"] {
    return this.#ctx.clock;
  }

  get silence(): InferenceRun["silence"] {
    return this.#ctx.bounds.init.silence;
  }

  get ids(): InferenceRun["ids"] {
    return this.#ctx.ids;
  }

  get log(): InferenceRun["log"] {
    return this.#ctx.log;
  }

  get reshape(): InferenceRun["reshape"] {
    const { transforms } = this.#ctx.active.plan.env;
    return transforms.length === 0 ? undefined : (messages) => applyTransforms(messages, this.request.tools, transforms);
  }

  get checkpoints(): InferenceRun["checkpoints"] {
    const ctx = this.#ctx;
    const { streams } = ctx;
    return streams === undefined ? undefined : async () => (await ctx.seldom.open()).streamSlot(ctx, streams);
  }

  emit(event: AgentEvent): void {
    this.#ctx.emit(event);
  }

  onBegin(turn: Collector): void {
    this.#ctx.progress.turn = turn;
  }

  async shrink(refused: InferenceRequest): Promise<InferenceRequest | undefined> {
    return (await this.#ctx.seldom.open()).shrink(this.#ctx, refused);
  }

  describeCall(toolName: string): CallFacts {
    return factsOf(this.#ctx, toolName);
  }
}

/** The abort of the run ends it, and the time at which the run is to leave. */
function inferUntil(ctx: RunContext, request: InferenceRequest): Promise<Inferred> {
  const leaving = ctx.wayOut?.signal;
  if (leaving === undefined) return infer(new StepInference(ctx, request, ctx.signal));
  const { controller, dispose } = childController(ctx.signal);
  const off = onAbort(leaving, () => controller.abort(leaving.reason));
  return infer(new StepInference(ctx, request, controller.signal)).finally(() => {
    off();
    dispose();
  });
}

/** Inside of what plugins put around it. */
export function ask(ctx: RunContext, request: InferenceRequest): Promise<Inferred> {
  const { env } = ctx.active.plan;
  const work = (): Promise<Inferred> => inferUntil(ctx, request);
  return env.arounds.inference.length === 0 ? work() : ctx.seldom.here.askInside(ctx, request, work);
}

function factsOf({ active }: RunContext, toolName: string): CallFacts {
  const traits = active.tools.get(toolName)?.traits;
  if (traits === undefined) return { runsAt: "server", dynamic: false, invalid: `there is no tool '${toolName}'` };
  const { runsAt, dynamic, kind } = traits;
  return { runsAt, dynamic, kind };
}

function count(ctx: RunContext, turn: Turn): void {
  const { model, usage, durationMs, stopReason: finishReason } = turn;
  const { provider, contextWindow } = ctx.active.plan.model;
  ctx.tally.add({ provider, model, usage });
  const window = contextWindow === undefined ? undefined : { contextWindow };
  ctx.emit({ type: "inference-end", provider, model, usage, durationMs, finishReason, ...window });
}

/** Whatever failed has loaded what says so. */
function failed(turn: Turn): StepOutcome | undefined {
  if (turn.stopReason !== "error") return undefined;
  const { code, message } = inferenceSeldom.here.leavingFailure(turn);
  return { type: "ended", termination: { type: "error", message, code } };
}

/** The answer was cut off because the run is to leave, or it failed and is tried again later. */
function leaves({ wayOut, signal }: RunContext, { turn, isAborted }: Inferred): StepOutcome | undefined {
  if (wayOut === undefined || signal.aborted) return undefined;
  if (isAborted) return { type: "left", failure: undefined };
  if (turn.stopReason !== "error") return undefined;
  const failure = inferenceSeldom.here.leavingFailure(turn);
  return wayOut.takesBack(failure) === "later" ? { type: "left", failure } : undefined;
}

/** What was said stays in the history; what was asked for is not, because it will not happen. */
function keepText(ctx: RunContext, messageId: MessageId, inferred: Inferred, outcome: StepOutcome): StepOutcome {
  // A frozen list is filtered and searched outside of compiled code: 0.9 % of a short run.
  const content: AssistantContent[] = [];
  let isSaid = false;
  for (const part of inferred.turn.content) {
    if (part.type === "tool-call" && part.executed === undefined) continue;
    content.push(part);
    isSaid ||= part.type !== "reasoning" && (part.type !== "text" || part.text !== "");
  }
  if (isSaid) say(ctx, messageId, inferred, content.slice());
  return outcome;
}

function say(ctx: RunContext, messageId: MessageId, { turn, plea }: Inferred, content: Turn["content"]): void {
  if (plea !== undefined) ctx.transcript.append(plea);
  ctx.transcript.append(assistantMessage(ctx, messageId, content));
  ctx.tally.response = turn.text;
}

const OUT_OF_TOKENS: StepOutcome = {
  type: "ended",
  termination: { type: "stopped", code: "max-tokens", detail: "the answer was cut off by the limit of output tokens" },
};

/** The turn asks for nothing that can be done. */
function concede(ctx: RunContext, messageId: MessageId, inferred: Inferred): StepOutcome {
  const { stopReason, malformedCalls } = inferred.turn;
  const outcome = malformedCalls.length === 0 ? NATURAL_END : CONTINUE;
  return keepText(ctx, messageId, inferred, stopReason === "max-tokens" ? OUT_OF_TOKENS : outcome);
}

/** What the turn asked for is done, as far as it could be. */
function conclude(ctx: RunContext, round: RoundOutcome): StepOutcome {
  if (ctx.signal.aborted) return CANCELLED;
  if (round.type === "blocked") return { type: "ended", termination: { type: "blocked", reason: round.reason } };
  return ending(ctx) ?? (round.type === "suspended" ? { type: "suspended" } : CONTINUE);
}
