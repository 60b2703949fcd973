import { errorMessage, type ToolResult } from "@awaken/contract";
import { command } from "../phase/command.ts";
import { findCall, toolCallStates } from "../state/tool-call-states.ts";
import { toolFailure } from "../tool/execute.ts";
import type { ToolReply } from "../tool/tool.ts";
import type { Intercept } from "../tool/verdict.ts";
import { gateCall } from "./gate-call.ts";
import type { AllowedCall, Gated, LiveCall } from "./live-call.ts";
import { closeCall } from "./lost-call.ts";
import type { OpenRound, RunContext } from "./run-context.ts";
import { holdCall, newState } from "./suspended-calls.ts";
import { INTERRUPTED, recordCall } from "./tool-call.ts";
import { knownResults } from "./unknown-outcome.ts";

// What a round does without whose calls pass their gates, do not wait, and are soon over.

type Intercepted = Extract<Gated, { type: "intercepted" }>;

/** Gives the reason when the call is blocked: the run ends. */
export async function intercept(round: OpenRound, live: LiveCall, first: Intercepted): Promise<string | undefined> {
  if (round.isClosing) return undefined;
  const gated = await lookAgain(round, live, first);
  if (round.isClosing) return undefined;
  if (gated.type !== "allowed") return stopCall(round, live, gated.intercept);
  round.allowed.push(gated.call);
  return undefined;
}

/** Earlier calls run first: they may change what the gate sees. A question is not kept back for ones that last. */
async function lookAgain(round: OpenRound, live: LiveCall, gated: Intercepted): Promise<Gated> {
  if (round.allowed.length + round.running.size === 0) return gated;
  await round.start();
  await round.bringToEnd(gated.intercept.type === "suspend");
  return round.isClosing || round.running.size > 0 ? gated : gateCall(round.ctx, live);
}

async function stopCall(round: OpenRound, live: LiveCall, stop: Intercept): Promise<string | undefined> {
  if (stop.type === "suspend") {
    const waits: ToolResult = { type: "pending", suspension: stop.suspension };
    keepOrder(round);
    round.settled.push(live.call.id);
    // No hook runs: the tool has not begun.
    recordCall(round.ctx, live, waits);
    round.note(waits);
    round.isStopped = round.isSequential;
    return undefined;
  }
  const result = stop.type === "answer" ? stop.result : toolFailure("denied", stop.reason, { rejected: true });
  await round.finish(live, { result, command: undefined });
  return stop.type === "block" ? stop.reason : undefined;
}

/** A call that waits, or in a round that lasts. */
export function finishOdd(round: OpenRound, call: AllowedCall, reply: ToolReply): void | Promise<void> {
  if (round.running.isLasting) keepOrder(round);
  return round.finish(call, reply);
}

/** Tickets come in the order of the calls, whichever waits first. */
function keepOrder(round: OpenRound): void {
  if (round.calls.length > 1) list(round);
}

function list(round: OpenRound): void {
  if (round.isListed) return;
  round.isListed = true;
  listCalls(round.ctx, round.calls);
}

/** States of calls, and so their tickets, are kept in the order of their first update; those of these calls in the order given here. */
export function listCalls(ctx: RunContext, calls: readonly LiveCall[]): void {
  const known = ctx.state.get(toolCallStates) ?? { calls: [] };
  const change = command();
  for (const live of calls) {
    if (findCall(known, live.call.id) === undefined) change.update(toolCallStates, { type: "set", call: newState(ctx, live) });
  }
  ctx.state.commit(change);
}

/** With the calls that are not over: after a crash they are brought to their end. What cannot be written now rides in the next commit. */
export async function putOnRecord(round: OpenRound): Promise<void> {
  if (!round.isDirty) return;
  round.isDirty = false;
  list(round);
  const { writer, log, identity } = round.ctx;
  try {
    await writer.write();
  } catch (thrown) {
    log.warn(`results could not be put on record yet: ${errorMessage(thrown)}`, { runId: identity.runId });
  }
}

export function interruptCall(ctx: RunContext, live: LiveCall): void {
  const isLost = ctx.ledger?.unknownOf(live) !== undefined;
  recordCall(ctx, live, closeCall(ctx.ledger, live, isLost ? undefined : INTERRUPTED));
}

/**
 * The run was told to stop: calls of a process that is gone are not run again, and their tools may know what became of them. Gives those
 * of which nothing is known.
 */
async function findOut(ctx: RunContext, open: readonly LiveCall[]): Promise<readonly LiveCall[]> {
  const lost = open.filter((live) => ctx.ledger?.unknownOf(live) !== undefined);
  const known = await knownResults(ctx, lost);
  for (const [live, result] of known) recordCall(ctx, live, result);
  return open.filter((live) => !known.has(live));
}

/** Calls that nobody got to, or that a failure cut off. Behind one that waits they have their turn when it is decided. */
export async function closeOpen({ ctx, calls, settled, isStopped, failure }: OpenRound): Promise<void> {
  const isSettled = new Set(settled);
  const open = calls.filter((live) => !isSettled.has(live.call.id));
  const left = ctx.signal.aborted ? await findOut(ctx, open) : open;
  const isHeld = isStopped && failure === undefined && !ctx.signal.aborted;
  for (const live of left) (isHeld ? holdCall : interruptCall)(ctx, live);
}
