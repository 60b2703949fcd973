import type { ToolResult } from "@awaken/contract";
import { command } from "../phase/command.ts";
import { closedTicket } from "../state/closed-ticket.ts";
import { pastTickets } from "../state/past-tickets.ts";
import { toolCallStates } from "../state/tool-call-states.ts";
import { toolFailure } from "../tool/execute.ts";
import { callsWith, editOf } from "./decided-calls.ts";
import { knownDecided } from "./decisions/replay-decided.ts";
import { closeCall } from "./lost-call.ts";
import { toolMessage } from "./messages.ts";
import { isOpenCall } from "./open-calls.ts";
import type { RunContext } from "./run-context.ts";
import { isOutcomeLost } from "./unknown-call.ts";

const NOTHING_KNOWN: ReadonlyMap<string, ToolResult> = new Map();

const UNDECIDED = toolFailure("cancelled", "the run ended before there was a decision");

/** Nobody can decide about a call of a run that is over: the model reads that, should the thread go on. */
export async function closeCalls(ctx: RunContext): Promise<void> {
  const isDecided = ctx.signal.aborted && callsWith(ctx, "resuming").length > 0;
  const known = isDecided ? await knownDecided(ctx) : NOTHING_KNOWN;
  for (const call of ctx.state.get(toolCallStates)?.calls ?? []) {
    if (!isOpenCall(call)) continue;
    const change = command().update(toolCallStates, { type: "set", call: { ...call, status: "cancelled", updatedAt: ctx.clock.now() } });
    for (const ticket of closedTicket(call)) change.update(pastTickets, { type: "closed", ticket });
    ctx.state.commit(change);
    const { messageId } = call;
    const found = known.get(call.id) ?? (isOutcomeLost(ctx.ledger, call) ? undefined : UNDECIDED);
    const result = closeCall(ctx.ledger, { messageId, call }, found);
    ctx.transcript.answer(toolMessage(ctx, call, result, editOf(call)), messageId);
  }
}
