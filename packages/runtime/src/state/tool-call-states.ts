import { canToolCallMove, isToolCallOver, type ToolCallState, type ToolCallStates, toolCallStatesSchema } from "@awaken/contract";
import { defineTrustedState } from "./key.ts";

export type ToolCallStatesUpdate = { readonly type: "set"; readonly call: ToolCallState } | { readonly type: "clear" };

/** A call that is over keeps neither its ticket nor its decision. */
function withoutTicket(call: ToolCallState): ToolCallState {
  if (!isToolCallOver(call.status) || (call.suspension === undefined && call.decision === undefined)) return call;
  const { suspension: _suspension, decision: _decision, ...rest } = call;
  return rest;
}

export const findCall = (value: ToolCallStates, id: string): ToolCallState | undefined => value.calls.find((call) => call.id === id);

/** The state machine of each tool call of the current step. It belongs to the thread, so that a waiting call outlives its run's process. */
export const toolCallStates = defineTrustedState("tool_call_states", {
  scope: "thread",
  merge: "commutative",
  schema: toolCallStatesSchema,
  initial: (): ToolCallStates => ({ calls: [] }),
  refuse(value, update: ToolCallStatesUpdate) {
    if (update.type === "clear") return undefined;
    const from = findCall(value, update.call.id)?.status ?? "new";
    const to = update.call.status;
    return canToolCallMove(from, to) ? undefined : `tool call '${update.call.id}' is ${from} and cannot become ${to}`;
  },
  apply(value, update: ToolCallStatesUpdate): ToolCallStates {
    if (update.type === "clear") return { calls: [] };
    const call = withoutTicket(update.call);
    const { calls } = value;
    return { calls: findCall(value, call.id) === undefined ? [...calls, call] : calls.map((each) => (each.id === call.id ? call : each)) };
  },
});
