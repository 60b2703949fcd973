import type { Message, ToolCallState, ToolMessage } from "@awaken/contract";
import type { RunLedger } from "../commit/run-ledger.ts";
import { command } from "../phase/command.ts";
import { closedTicket, pastTickets } from "../state/past-tickets.ts";
import type { StateStore } from "../state/store.ts";
import { toolCallStates } from "../state/tool-call-states.ts";
import { toolFailure } from "../tool/execute.ts";
import type { Activation, RunHandles } from "./activation.ts";
import { expiredResult, isExpired } from "./decisions/expired.ts";
import { closeCall, isOutcomeLost } from "./lost-call.ts";
import { lateResult, type MessageMaker, retraction, SUPERSEDED } from "./messages.ts";

const isUserInput = (message: Message): boolean => message.role === "user" && message.visibility !== "internal";

/** Whether calls that wait are abandoned by this activation. */
export const isSuperseding = ({ seededDecisions, input }: Activation): boolean => seededDecisions.length === 0 && input.some(isUserInput);

/** Calls that wait, those behind them, and those whose decision was taken by a process that died before it could follow it. */
const isOpen = (call: ToolCallState): boolean => call.status === "suspended" || call.status === "resuming" || call.status === "new";

/**
 * A new user message without a decision abandons the calls that wait: nothing is replayed. What never began is retracted, unless it had
 * expired: then it is denied. What may have had its effect stays in view and says so, and its row in the ledger stays open for whoever finds out. Their tickets are closed.
 */
export function supersede(
  activation: Activation,
  handles: RunHandles,
  state: StateStore,
  ledger: RunLedger | undefined,
): readonly ToolMessage[] {
  const calls = (state.get(toolCallStates)?.calls ?? []).filter(isOpen);
  const closing = activation.input.find(isUserInput);
  if (calls.length === 0 || closing === undefined || !isSuperseding(activation)) return [];
  const change = command().update(toolCallStates, { type: "clear" });
  if (activation.isContinuation) {
    for (const ticket of calls.flatMap((call) => closedTicket(call, closing.id))) change.update(pastTickets, { type: "closed", ticket });
  }
  state.commit(change);
  const run = { ids: handles.ids, identity: activation.identity, tally: { steps: activation.history.run?.counted.steps ?? 0 } };
  const now = handles.clock.now();
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
