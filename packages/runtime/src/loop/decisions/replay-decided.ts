import { freezeJson, type Termination, type ToolCallState, type ToolResult } from "@awaken/contract";
import { command } from "../../phase/command.ts";
import type { ResumedCall } from "../../phase/hook.ts";
import { toolCallStates } from "../../state/tool-call-states.ts";
import { toolFailure } from "../../tool/execute.ts";
import { callResumed } from "../call-resumed.ts";
import { callsWith, editOf } from "../decided-calls.ts";
import { gateCall } from "../gate-call.ts";
import type { LiveCall } from "../live-call.ts";
import { toolMessage } from "../messages.ts";
import { hasNext, hasSuspended } from "../open-calls.ts";
import type { RunContext } from "../run-context.ts";
import { completeCall } from "../tool-call.ts";
import { runToolRound } from "../tool-round.ts";
import { knownResults } from "../unknown-outcome.ts";
import { expireTickets } from "./expire.ts";

/** What a call is resumed with. One that is run again after an unknown outcome goes on with the decision that it was on its way with. */
export function resumedWith(call: ToolCallState): ResumedCall | undefined {
  const { suspension, decision, earlier } = call;
  if (suspension === undefined || decision === undefined) return undefined;
  if (earlier === undefined || decision.action !== "approve")
    return { suspension: { ...suspension, resumeMode: call.resumeMode }, decision };
  const before = { suspension: { ...earlier.suspension, resumeMode: earlier.resumeMode }, decision: earlier.decision };
  if (decision.input === undefined) return before;
  return before.decision.action === "approve" ? { ...before, decision: { ...before.decision, input: decision.input } } : before;
}

/** The call is over without having run; the model reads why, and hooks see its result. */
async function deny(ctx: RunContext, live: LiveCall, call: ToolCallState, reason: string | undefined): Promise<void> {
  const result = toolFailure("denied", reason?.trim() ? reason : "the call was not approved", { rejected: true });
  const change = command().update(toolCallStates, { type: "set", call: { ...call, status: "cancelled", updatedAt: ctx.clock.now() } });
  try {
    await ctx.phases.run("afterToolExecute", { call: live.call, resume: live.resume, result }, change);
  } catch (thrown) {
    ctx.state.commit(change);
    throw thrown;
  } finally {
    tellDenied(ctx, live, call, result, reason);
  }
}

function tellDenied(ctx: RunContext, live: LiveCall, call: ToolCallState, result: ToolResult, reason: string | undefined): void {
  ctx.transcript.answer(toolMessage(ctx, live.call, result), live.messageId);
  ctx.ledger?.settle(live, result);
  ctx.emit(callResumed({ call, messageId: call.messageId, ticketId: call.suspension?.id }, { type: "denied", reason }));
}

/** The decision is the result; a gate may still refuse it. Gives the reason when it ends the run. */
async function answer(ctx: RunContext, live: LiveCall, result: ToolResult): Promise<string | undefined> {
  const gated = await gateCall(ctx, live);
  if (gated.type === "intercepted" && (gated.intercept.type === "block" || gated.intercept.type === "deny")) {
    const { type, reason } = gated.intercept;
    await completeCall(ctx, live, { result: toolFailure("denied", reason, { rejected: true }), command: undefined });
    return type === "block" ? reason : undefined;
  }
  await completeCall(ctx, live, { result, command: undefined });
  return undefined;
}

function replayOf(call: ToolCallState, resume: ResumedCall): LiveCall {
  freezeJson(resume);
  const edited = editOf(call);
  // An edit on the second approval counts also when the first decision was no approval and has no place for it.
  const input = call.earlier === undefined || edited === undefined ? call.input : edited.input;
  return {
    call: { id: call.id, name: call.name, input },
    messageId: call.messageId,
    resume,
    isReplay: true,
    ...(edited === undefined ? {} : { edited }),
  };
}

/** Decided calls of a process that is gone, when the run was told to stop: what their tools can tell, by the id of the call. */
export async function knownDecided(ctx: RunContext): Promise<ReadonlyMap<string, ToolResult>> {
  const lost = callsWith(ctx, "resuming").flatMap((call): LiveCall[] => {
    const resume = resumedWith(call);
    return resume === undefined || ctx.ledger?.unknownOf({ messageId: call.messageId, call }) === undefined ? [] : [replayOf(call, resume)];
  });
  const known = await knownResults(ctx, lost);
  return new Map([...known].map(([live, result]) => [live.call.id, result]));
}

/** Gives the reason when a gate blocks the call. */
async function replayOne(ctx: RunContext, call: ToolCallState): Promise<string | undefined> {
  const resume = resumedWith(call);
  if (resume === undefined) return undefined;
  const { decision } = call;
  if (decision === undefined) return undefined;
  const live = replayOf(call, resume);
  if (decision.action === "deny") {
    await deny(ctx, live, call, decision.reason);
    return undefined;
  }
  if (decision.action === "answer" && call.resumeMode !== "pass-decision-to-tool") {
    return answer(ctx, live, { type: "success", data: decision.result });
  }
  const outcome = await runToolRound(ctx, [live]);
  return outcome.type === "blocked" ? outcome.reason : undefined;
}

/** Calls behind one that waited, in call order, until one of them waits. Their gates have not been asked. */
async function runHeld(ctx: RunContext): Promise<Termination | undefined> {
  for (;;) {
    const [next] = hasSuspended(ctx) ? [] : callsWith(ctx, "new");
    if (next === undefined) return undefined;
    if (ctx.signal.aborted) return { type: "cancelled" };
    const { id, name, input, messageId } = next;
    const outcome = await runToolRound(ctx, [{ call: { id, name, input }, messageId, resume: undefined, isReplay: true }]);
    if (outcome.type === "blocked") return { type: "blocked", reason: outcome.reason };
  }
}

/**
 * Brings every call that was decided, or could have been until it expired, to its end, refusals first, one after the other in call order, then those that were held, and commits.
 * Gives the termination when a gate ends the run on the way.
 */
export async function replayDecided(ctx: RunContext): Promise<Termination | undefined> {
  if (!ctx.signal.aborted) await expireTickets(ctx);
  if (!hasNext(ctx)) return undefined;
  const calls = callsWith(ctx, "resuming");
  const denied = calls.filter((call) => call.decision?.action === "deny");
  for (const call of [...denied, ...calls.filter((call) => call.decision?.action !== "deny")]) {
    if (ctx.signal.aborted) return { type: "cancelled" };
    const reason = await replayOne(ctx, call);
    if (reason !== undefined) return { type: "blocked", reason };
  }
  const ended = await runHeld(ctx);
  if (ended !== undefined) return ended;
  await ctx.writer.write();
  return undefined;
}
