import {
  effectKey,
  type Suspension,
  type TicketId,
  type ToolCallState,
  type ToolCallStatus,
  type ToolPending,
  type ToolResult,
  ticketId,
  toolOutcome,
} from "@awaken/contract";
import { command, extendCommand } from "../phase/command.ts";
import type { PhaseOutcome } from "../phase/engine.ts";
import type { ResumedCall } from "../phase/hook.ts";
import { INTERRUPTED_RESULT } from "../prompt/repair.ts";
import { toolCallStates } from "../state/tool-call-states.ts";
import { executeCall, toolFailure } from "../tool/execute.ts";
import type { Tool, ToolContext, ToolReply } from "../tool/tool.ts";
import { type AllowedCall, inputOf, type LiveCall } from "./live-call.ts";
import { lostResult, UNKNOWN_OUTCOME } from "./lost-call.ts";
import { toolMessage } from "./messages.ts";
import { Reporter } from "./report.ts";
import type { RunContext } from "./run-context.ts";

const STATUS: Record<ReturnType<typeof toolOutcome>, ToolCallStatus> = { succeeded: "succeeded", failed: "failed", suspended: "suspended" };

function stateOf(ctx: RunContext, live: LiveCall, status: ToolCallStatus): ToolCallState {
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

const ticketOf = (live: LiveCall, suspension: Suspension): TicketId => {
  const id = suspension.id ?? "";
  return ticketId(id.trim() === "" ? live.call.id : id);
};

function earlierOf(live: LiveCall, { suspension, decision }: ResumedCall): NonNullable<ToolCallState["earlier"]> {
  const { resumeMode = "replay-tool-call", ...waited } = suspension;
  return { suspension: { ...waited, id: ticketOf(live, suspension) }, resumeMode, decision };
}

function suspendedState(ctx: RunContext, live: LiveCall, suspension: Suspension): ToolCallState {
  const { resumeMode, action, message, parameters, responseSchema } = suspension;
  const kept: ToolCallState["suspension"] = {
    id: ticketOf(live, suspension),
    action,
    ...(message?.trim() ? { message } : {}),
    ...(parameters === undefined ? {} : { parameters }),
    ...(responseSchema === undefined ? {} : { responseSchema }),
  };
  const state = { ...stateOf(ctx, live, "suspended"), suspension: kept };
  const earlier = action === UNKNOWN_OUTCOME && live.resume !== undefined ? { earlier: earlierOf(live, live.resume) } : {};
  // An input that was edited on an earlier approval stays: the next approval is about what would run.
  return { ...state, input: inputOf(live), resumeMode: resumeMode ?? "replay-tool-call", ...earlier };
}

const withTicket = (live: LiveCall, result: ToolPending): ToolPending => ({
  ...result,
  suspension: { ...result.suspension, id: ticketOf(live, result.suspension) },
});

/** The result is in the transcript and told to listeners. The result of a replayed call stands behind its message, in the place of its placeholder. */
function publish(ctx: RunContext, live: LiveCall, result: ToolResult): void {
  const { call, isReplay } = live;
  const message = toolMessage(ctx, call, result, live.edited);
  if (isReplay) ctx.transcript.answer(message, live.messageId);
  else ctx.transcript.append(message);
  ctx.ledger?.settle(live, result.type === "pending" ? withTicket(live, result) : result);
  if (isReplay && result.type !== "pending") {
    const outcome = result.type === "success" ? "succeeded" : "failed";
    ctx.emit({ type: "tool-call-resumed", toolCallId: call.id, toolName: call.name, outcome, result: resumedPayload(result) });
    return;
  }
  const outcome = toolOutcome(result);
  ctx.emit({ type: "tool-call-end", toolCallId: call.id, toolName: call.name, messageId: message.id, outcome, result });
}

function resumedPayload(result: Exclude<ToolResult, { type: "pending" }>) {
  if (result.type === "error") return { error: result.message };
  const { data, metadata = {} } = result;
  return Object.keys(metadata).length === 0 ? data : { data, metadata };
}

/** One update from wherever the call stood to where its result puts it. Nobody ever sees it running alone. */
function completion(ctx: RunContext, live: LiveCall, result: ToolResult) {
  const call = result.type === "pending" ? suspendedState(ctx, live, result.suspension) : stateOf(ctx, live, STATUS[toolOutcome(result)]);
  return command().update(toolCallStates, { type: "set", call });
}

/** A tool's command that the state refuses is the tool's failure, not the run's. */
function checked(ctx: RunContext, reply: ToolReply): ToolReply {
  if (reply.command === undefined) return reply;
  try {
    ctx.phases.check(reply.command);
    return reply;
  } catch (thrown) {
    const detail = thrown instanceof Error ? thrown.message : String(thrown);
    return { result: toolFailure("internal", `the tool's command was refused: ${detail}`), command: undefined };
  }
}

/**
 * Commits a call's reply together with what its hooks add, then publishes it. A failing hook throws, and the call keeps its result.
 * Without a promise when no hook has to be waited for.
 */
export function completeCall(ctx: RunContext, live: LiveCall, given: ToolReply): ToolResult | Promise<ToolResult> {
  const { result, command: own } = checked(ctx, given);
  const first = own === undefined ? completion(ctx, live, result) : extendCommand(completion(ctx, live, result), own);
  let done: PhaseOutcome | Promise<PhaseOutcome>;
  try {
    done = ctx.phases.run("afterToolExecute", { call: live.call, resume: live.resume, result }, first);
  } catch (thrown) {
    recordCall(ctx, live, result);
    throw thrown;
  }
  if (typeof done !== "string") return publishAfter(done, ctx, live, result);
  publish(ctx, live, result);
  return result;
}

async function publishAfter(hooks: Promise<unknown>, ctx: RunContext, live: LiveCall, result: ToolResult): Promise<ToolResult> {
  try {
    await hooks;
  } catch (thrown) {
    recordCall(ctx, live, result);
    throw thrown;
  }
  publish(ctx, live, result);
  return result;
}

/** Records a result without its hooks: the run is ending and no call may be left open. */
export function recordCall(ctx: RunContext, live: LiveCall, result: ToolResult): void {
  ctx.state.commit(completion(ctx, live, result));
  publish(ctx, live, result);
}

export function interruptCall(ctx: RunContext, live: LiveCall): void {
  const isLost = ctx.ledger?.leaveUnknown(live) === true;
  recordCall(ctx, live, isLost ? lostResult(live.call.name) : { type: "error", code: "interrupted", message: INTERRUPTED_RESULT });
}

/** A gate asked for a decision: no hook runs, the tool has not begun. */
export function suspendCall(ctx: RunContext, live: LiveCall, suspension: Suspension): void {
  const result: ToolResult = { type: "pending", suspension: { ...suspension, id: ticketOf(live, suspension) } };
  recordCall(ctx, live, result);
}

function toolContext(ctx: RunContext, live: LiveCall, signal: AbortSignal, reporter: Reporter): ToolContext {
  const { agent, identity, messages, clock, profile } = ctx.active.scene;
  const { progress, activity, output } = reporter;
  return {
    agent,
    identity,
    messages,
    clock,
    profile,
    state: ctx.state.snapshot(),
    signal,
    callId: live.call.id,
    toolName: live.call.name,
    idempotencyKey: effectKey(identity.runId, live.messageId, live.call.id),
    resume: live.resume,
    progress,
    activity,
    output,
  };
}

/** Never rejects. */
export function execute(ctx: RunContext, allowed: AllowedCall): Promise<ToolReply> {
  return "reply" in allowed ? Promise.resolve(allowed.reply) : executeTool(ctx, allowed);
}

export function executeTool(ctx: RunContext, allowed: Extract<AllowedCall, { tool: Tool }>): Promise<ToolReply> {
  const reporter = new Reporter(ctx, allowed.call);
  const { timeoutMs } = allowed.tool.traits;
  const controller = timeoutMs === undefined ? undefined : new AbortController();
  return executeCall({
    prepared: allowed.prepared,
    context: toolContext(ctx, allowed, controller?.signal ?? ctx.signal, reporter),
    controller,
    run: ctx.signal,
    clock: ctx.clock,
    timeoutMs,
    graceMs: ctx.options.cancelGraceMs,
    reporter,
  });
}
