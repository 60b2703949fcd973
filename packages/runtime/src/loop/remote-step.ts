import {
  AwakenError,
  addUsage,
  type Backend,
  type BackendResult,
  copyJson,
  durableStatus,
  errorMessage,
  type JsonObject,
  type Message,
  type MessageId,
  NO_USAGE,
  type RootRequest,
  toJson,
} from "@awaken/contract";
import { command } from "../phase/command.ts";
import { backendOutput, remoteBackend } from "../state/remote-backend.ts";
import { childController, onAbort, raceAbort } from "../stream/abort.ts";
import { takenBack } from "./finish.ts";
import { assistantMessage } from "./messages.ts";
import type { RunContext } from "./run-context.ts";
import type { StepOutcome } from "./step-outcome.ts";

const CANCELLED: StepOutcome = { type: "ended", termination: { type: "cancelled" } };
const LEFT: StepOutcome = { type: "left", failure: undefined };

/** What was said since the agent spoke last, or what this run brought of it: messages may come while it works. */
function turnOf({ transcript, firstInput: first }: RunContext): readonly Message[] {
  const { messages } = transcript;
  const since = messages.slice(messages.findLastIndex(({ role }) => role === "assistant") + 1);
  return since.slice(Math.max(0, first === undefined ? 0 : since.findIndex(({ id }) => id === first)));
}

function requestOf(ctx: RunContext, signal: AbortSignal): RootRequest {
  const { identity, options, isContinuation, transcript } = ctx;
  return {
    role: "root",
    agentId: ctx.active.plan.agent.id,
    // Its own: the transcript goes on while it works.
    messages: [...transcript.messages],
    newMessages: turnOf(ctx),
    identity,
    frontendTools: options.frontendTools,
    ...(options.overrides === undefined ? undefined : { overrides: options.overrides }),
    isContinuation,
    emit: (event) => ctx.emit(copyJson(event)),
    signal,
    remote: {
      stored: storedOf(ctx),
      keep: async (state: JsonObject) => {
        ctx.state.commit(command().update(remoteBackend, copyJson(state)));
        await ctx.writer.write();
      },
    },
  };
}

const storedOf = (ctx: RunContext) => ctx.state.get(remoteBackend) ?? undefined;

const isLost = ({ reason }: AbortSignal): boolean => AwakenError.is(reason) && reason.code === "fence_lost";

/**
 * A run that was cancelled, while it worked or while it waited. Best effort: a backend that cannot be told to stop is left behind. What
 * somebody else has by now is theirs.
 */
export async function abortRemote(ctx: RunContext, backend: Backend): Promise<void> {
  if (backend.abort === undefined || !backend.profile.cancellation.includes("remote-abort") || isLost(ctx.signal)) return;
  await backend.abort({ agentId: ctx.active.plan.agent.id, identity: ctx.identity, stored: storedOf(ctx) });
}

/** The whole answer at once: nothing of it was heard before. */
function say(ctx: RunContext, messageId: MessageId, result: BackendResult, startedAt: number): void {
  const text = result.output.text ?? result.response ?? "";
  if (text !== "") {
    ctx.emit({ type: "text-delta", delta: text });
    ctx.transcript.append(assistantMessage(ctx, messageId, [{ type: "text", text }]));
    ctx.tally.response = text;
  }
  const { artifacts, raw } = result.output;
  if (artifacts.length > 0 || raw !== undefined) ctx.state.commit(command().update(backendOutput, copyJson(toJson(result.output))));
  if (result.status.type !== "completed") return;
  const { provider, upstream } = ctx.active.plan.model;
  const durationMs = ctx.clock.now() - startedAt;
  ctx.emit({
    type: "inference-end",
    provider,
    model: upstream,
    usage: addUsage(NO_USAGE, result.usage ?? NO_USAGE),
    durationMs,
    finishReason: "end-turn",
  });
}

function outcomeOf(result: BackendResult): StepOutcome {
  const { status } = result;
  const durable = durableStatus(result);
  if (durable.status === "waiting") return { type: "waits", reason: durable.reason };
  switch (status.type) {
    case "failed":
      return { type: "ended", termination: { type: "error", code: "remote_failed", message: status.message } };
    case "cancelled":
      return CANCELLED;
    case "timeout":
      return { type: "ended", termination: { type: "stopped", code: "timeout", detail: "the agent did not answer in time" } };
    default:
      return { type: "natural-end" };
  }
}

/**
 * When the run has to leave this process, somebody else goes on with what the other side keeps: it is not told to stop. What it does not keep
 * is waited for, as a tool is.
 */
const leavingOf = ({ wayOut }: RunContext, { profile }: Backend): AbortSignal | undefined =>
  profile.continuation === "remote-state" ? wayOut?.signal : undefined;

/** One turn of an agent that runs elsewhere. */
export async function runRemoteStep(ctx: RunContext, messageId: MessageId, backend: Backend): Promise<StepOutcome> {
  const assured = ctx.landing.holding?.assure?.();
  if (assured !== undefined) await assured;
  if (ctx.signal.aborted) return CANCELLED;
  const startedAt = ctx.clock.now();
  const { controller, dispose } = childController(backend.profile.cancellation === "none" ? undefined : ctx.signal);
  const leaving = leavingOf(ctx, backend);
  const away = childController(ctx.signal);
  const off = leaving === undefined ? () => {} : onAbort(leaving, () => leave(controller, away.controller));
  try {
    const raced = await raceAbort(backend.run(requestOf(ctx, controller.signal)), away.controller.signal);
    if (raced.type === "aborted") return ctx.signal.aborted ? CANCELLED : LEFT;
    say(ctx, messageId, raced.value, startedAt);
    return outcomeOf(raced.value);
  } catch (thrown) {
    if (ctx.signal.aborted) return CANCELLED;
    if (takenBack(ctx, thrown) !== undefined) throw thrown;
    const code = AwakenError.is(thrown) ? thrown.code : "remote_failed";
    return { type: "ended", termination: { type: "error", code, message: errorMessage(thrown) } };
  } finally {
    off();
    dispose();
    away.dispose();
  }
}

function leave(request: AbortController, here: AbortController): void {
  here.abort();
  request.abort(new AwakenError("fence_lost", "the run is left to another process"));
}
