import {
  AwakenError,
  errorMessage,
  freezeJson,
  type ToolCallState,
  type ToolCallStatus,
  type ToolPending,
  type ToolResult,
  toolOutcome,
} from "@awaken/contract";
import { command, extendCommand } from "../phase/command.ts";
import type { PhaseOutcome } from "../phase/whole-phase-parts.ts";
import { INTERRUPTED_RESULT } from "../prompt/interrupted-result.ts";
import { schemas } from "../state/late-schema.ts";
import { toolCallStates } from "../state/tool-call-states.ts";
import { type Late, whenThere, withRoom } from "../stream/door.ts";
import type { RunAgent } from "../tool/child-result.ts";
import { executeCall, toolFailure } from "../tool/execute.ts";
import type { ToolContext, ToolReply } from "../tool/tool.ts";
import type { AllowedCall, LiveCall, ReadyCall } from "./live-call.ts";
import { toolMessage } from "./messages.ts";
import { Reporter } from "./report.ts";
import type { RunContext, Ticketed } from "./run-context.ts";

export function stateOf(ctx: RunContext, live: LiveCall, status: ToolCallStatus): ToolCallState {
  return {
    id: live.call.id,
    messageId: live.messageId,
    name: live.call.name,
    agentId: ctx.active.plan.agent.id,
    input: live.call.input,
    status,
    resumeMode: "replay-tool-call",
    updatedAt: ctx.clock.now(),
  };
}

type Ended = Exclude<ToolResult, ToolPending> | (ToolPending & { readonly suspension: Ticketed });

const withTicket = (ctx: RunContext, result: ToolResult): Ended =>
  result.type === "pending" ? { ...result, suspension: ctx.seldom.here.ticketed(ctx, result.suspension) } : result;

/** The result is in the transcript and told to listeners; that there is a ticket is told when it is on record. */
function publish(ctx: RunContext, live: LiveCall, result: Ended): void {
  const { call, isReplay } = live;
  const message = toolMessage(ctx, call, result, live.edited);
  ctx.transcript.answer(message, live.messageId);
  ctx.ledger?.settle(live, result);
  if (isReplay && result.type !== "pending") {
    ctx.emit(ctx.seldom.here.callResumed({ call, messageId: live.messageId, ticketId: live.resume?.suspension.id }, result));
    return;
  }
  const outcome = toolOutcome(result);
  ctx.emit({ type: "tool-call-end", toolCallId: call.id, toolName: call.name, messageId: message.id, outcome, result });
  if (result.type === "pending") ctx.seldom.here.announceTicket(ctx, call.id);
}

/** One update from wherever the call stood to where its result puts it. Nobody ever sees it running alone. */
function completion(ctx: RunContext, live: LiveCall, result: Ended) {
  const call =
    result.type === "pending" ? ctx.seldom.here.suspendedState(ctx, live, result.suspension) : stateOf(ctx, live, toolOutcome(result));
  return command().update(toolCallStates, { type: "set", call });
}

function refused(thrown: unknown): ToolReply {
  if (AwakenError.is(thrown) && thrown.code === "part_not_loaded") throw thrown;
  return { result: toolFailure("internal", `the tool's command was refused: ${errorMessage(thrown)}`), command: undefined };
}

/** A tool's command that the state refuses is the tool's failure, not the run's. Throws where the part is gone that reads it. */
function checked(ctx: RunContext, reply: ToolReply): Late<ToolReply> {
  const { command } = reply;
  if (command === undefined) return reply;
  try {
    const checking = whenThere(schemas.open(), () => ctx.phases.check(command));
    return checking instanceof Promise ? checking.then(() => reply, refused) : reply;
  } catch (thrown) {
    return refused(thrown);
  }
}

/**
 * Commits a call's reply together with what its hooks add, then publishes it. A failing hook throws, and the call keeps its result.
 * Without a promise when nobody has to be waited for.
 */
export function completeCall(ctx: RunContext, live: LiveCall, given: ToolReply): Late<ToolResult> {
  const reply = checked(ctx, given);
  return reply instanceof Promise ? completeLater(reply, ctx, live, given) : complete(ctx, live, reply);
}

async function completeLater(checking: Promise<ToolReply>, ctx: RunContext, live: LiveCall, given: ToolReply): Promise<ToolResult> {
  let reply: ToolReply;
  try {
    reply = await checking;
  } catch (thrown) {
    // What was done is kept, and the run fails: what it was to be told of the state is lost.
    recordCall(ctx, live, given.result);
    throw thrown;
  }
  return complete(ctx, live, reply);
}

function complete(ctx: RunContext, live: LiveCall, { result: told, command: own }: ToolReply): Late<ToolResult> {
  const result = withTicket(ctx, told);
  // Hooks are shown it before it is on record.
  if (!ctx.active.plan.env.isOwn) freezeJson(result);
  const first = own === undefined ? completion(ctx, live, result) : extendCommand(completion(ctx, live, result), own);
  let done: PhaseOutcome | Promise<PhaseOutcome>;
  try {
    done = ctx.phases.run("afterToolExecute", { call: live.call, resume: live.resume, result }, first);
  } catch (thrown) {
    record(ctx, live, result);
    throw thrown;
  }
  if (typeof done !== "string") return publishAfter(done, ctx, live, result);
  publish(ctx, live, result);
  return result;
}

async function publishAfter(hooks: Promise<unknown>, ctx: RunContext, live: LiveCall, result: Ended): Promise<ToolResult> {
  try {
    await hooks;
  } catch (thrown) {
    record(ctx, live, result);
    throw thrown;
  }
  publish(ctx, live, result);
  return result;
}

function record(ctx: RunContext, live: LiveCall, result: Ended): void {
  ctx.state.commit(completion(ctx, live, result));
  publish(ctx, live, result);
}

/** Records a result without its hooks: the run is ending and no call may be left open. */
export function recordCall(ctx: RunContext, live: LiveCall, result: ToolResult): void {
  record(ctx, live, withTicket(ctx, result));
}

export const INTERRUPTED: ToolResult = Object.freeze({ type: "error", code: "interrupted", message: INTERRUPTED_RESULT });

function toolContext(
  ctx: RunContext,
  live: ReadyCall,
  signal: AbortSignal,
  reporter: Reporter,
  traceParent: string | undefined,
): ToolContext {
  const { agent, scopeId, identity, principal, extras, messages, tools, clock, profile } = ctx.active.scene;
  const { progress, activity, output } = reporter;
  const { idempotencyKey } = live;
  // No getter: it would give each context a shape of its own.
  const { tasks, sendMessage } = ctx.tasks.forCall({ callId: live.call.id, agentId: agent.id, key: idempotencyKey, traceParent });
  let runAgent: RunAgent | undefined;
  return {
    agent,
    scopeId,
    identity,
    principal,
    extras,
    messages,
    tools,
    clock,
    profile,
    state: ctx.state.snapshot(),
    signal,
    callId: live.call.id,
    toolName: live.call.name,
    idempotencyKey,
    resume: live.resume,
    runAgent: (request) =>
      Promise.resolve(
        withRoom(ctx.seldom.open(), request, ({ agentRunner }, given) => {
          runAgent ??= agentRunner(ctx, live, { signal, idempotencyKey, traceParent });
          return runAgent(given);
        }),
      ),
    tasks,
    sendMessage,
    progress,
    activity,
    output,
  };
}

/** `done` is told the reply, once: whatever happens, there is one. */
export function execute(ctx: RunContext, allowed: AllowedCall, done: (reply: ToolReply) => void): void {
  if ("reply" in allowed) {
    done(allowed.reply);
    return;
  }
  ctx.tell({ type: "tool-call-run", toolCallId: allowed.call.id });
  if (ctx.active.plan.env.arounds.tool.length === 0) executeTool(ctx, allowed, done);
  else ctx.seldom.here.executeInside(ctx, allowed, done);
}

/**
 * `traceParent`: of the span around the call, when there is one. The last look at the lease is as near to the tool as can be: a call before
 * it in the round may have kept the process, and what another process has taken over must not be begun here.
 */
export function executeTool(ctx: RunContext, allowed: ReadyCall, done: (reply: ToolReply) => void, traceParent?: string): void {
  const assured = allowed.tool.traits.pure ? undefined : ctx.landing.holding?.assure?.();
  if (assured === undefined) beginTool(ctx, allowed, done, traceParent);
  else void assured.then(() => beginAssured(ctx, allowed, done, traceParent));
}

function beginAssured(ctx: RunContext, allowed: ReadyCall, done: (reply: ToolReply) => void, traceParent: string | undefined): void {
  if (ctx.signal.aborted) done({ result: INTERRUPTED, command: undefined });
  else beginTool(ctx, allowed, done, traceParent);
}

function beginTool(ctx: RunContext, allowed: ReadyCall, done: (reply: ToolReply) => void, traceParent: string | undefined): void {
  const reporter = new Reporter(ctx, allowed.call);
  const { timeoutMs } = allowed.tool.traits;
  const controller = timeoutMs === undefined ? undefined : new AbortController();
  const execution = {
    prepared: allowed.prepared,
    context: toolContext(ctx, allowed, controller?.signal ?? ctx.signal, reporter, traceParent),
    controller,
    run: ctx.signal,
    bounds: ctx.bounds,
    clock: ctx.clock,
    timeoutMs,
    graceMs: ctx.cancelGraceMs,
    reporter,
  };
  executeCall(execution, done);
}
