import type { Message, ToolMessage } from "@awaken/contract";
import type { RunState } from "../state/run-state.ts";
import { toolCallStates } from "../state/tool-call-states.ts";
import type { Activation, RunHandles, RunWriting } from "./activation.ts";
import { isOpenCall } from "./open-calls.ts";

const isUserInput = (message: Message): boolean => message.role === "user" && message.visibility !== "internal";

/**
 * Whether calls that wait are abandoned by this activation. A new run without input answers what the log has, as a dead letter does that is
 * replayed: beside one that waits, both would wait for the same calls.
 */
export const isSuperseding = ({ seededDecisions, input, isContinuation }: Activation): boolean =>
  seededDecisions.length === 0 && (input.some(isUserInput) || (input.length === 0 && !isContinuation));

/**
 * A new user message without a decision, or a run of its own, abandons the calls that wait: nothing is replayed. What never began is retracted, unless it had
 * expired: then it is denied. What may have had its effect stays in view and says so, and its row in the ledger stays open for whoever finds out. Their tickets are closed.
 */
export function supersede(
  activation: Activation,
  handles: RunHandles,
  state: RunState,
  { landing, ledger }: RunWriting,
): readonly ToolMessage[] {
  const calls = state.get(toolCallStates)?.calls.filter(isOpenCall) ?? [];
  if (calls.length === 0 || !isSuperseding(activation)) return [];
  const { isContinuation, identity, history } = activation;
  const closing = activation.input.find(isUserInput)?.id;
  const { ids, clock, seldom } = handles;
  const steps = history.run?.counted.steps ?? 0;
  return seldom.here.abandonCalls(state, { calls, closing, landing, ledger, isContinuation, identity, steps, ids, now: clock.now() });
}
