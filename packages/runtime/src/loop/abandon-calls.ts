import type { ToolCallState, ToolMessage } from "@awaken/contract";
import type { RunLedger } from "../commit/run-ledger.ts";
import { childrenOf } from "../commit/tickets.ts";
import { command } from "../phase/command.ts";
import { closedTicket } from "../state/closed-ticket.ts";
import { pastTickets } from "../state/past-tickets.ts";
import type { RunState } from "../state/run-state.ts";
import { toolCallStates } from "../state/tool-call-states.ts";
import { toolFailure } from "../tool/execute.ts";
import { lateResult, retraction, SUPERSEDED } from "./closing-messages.ts";
import { expiredResult, isExpired } from "./decisions/expired.ts";
import { closeCall } from "./lost-call.ts";
import type { MessageMaker } from "./messages.ts";
import type { OpenCalls } from "./run-context.ts";
import { isOutcomeLost } from "./unknown-call.ts";

/** What `supersede` comes to when calls wait. */
export function abandonCalls(state: RunState, open: OpenCalls): readonly ToolMessage[] {
  const { calls, closing, landing, ledger, isContinuation, identity, steps, ids, now } = open;
  const change = command().update(toolCallStates, { type: "clear" });
  if (isContinuation && closing !== undefined) {
    for (const ticket of calls.flatMap((call) => closedTicket(call, closing))) change.update(pastTickets, { type: "closed", ticket });
  }
  state.commit(change);
  landing.holding?.abandon?.(childrenOf(calls.filter(({ status }) => status === "suspended")));
  const run = { ids, identity, tally: { steps } };
  return calls.map((call) => abandonCall(run, ledger, call, now));
}

/** Closes a call that waits, with its row in the ledger, and gives what the log has to say of it. */
export function abandonCall(run: MessageMaker, ledger: RunLedger | undefined, call: ToolCallState, now: number): ToolMessage {
  const asked = { messageId: call.messageId, call };
  if (isOutcomeLost(ledger, call)) return lateResult(run, call, closeCall(ledger, asked, undefined));
  if (isExpired(call, now)) return lateResult(run, call, closeCall(ledger, asked, expiredResult()));
  closeCall(ledger, asked, toolFailure("cancelled", SUPERSEDED));
  return retraction(run, call);
}
