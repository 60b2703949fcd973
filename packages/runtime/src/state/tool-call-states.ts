import {
  canToolCallMove,
  freezeJson,
  isToolCallOver,
  type PersistedState,
  type ToolCallState,
  type ToolCallStates,
  toolCallStatesSchema,
  validateSync,
} from "@awaken/contract";
import { defineTrustedState } from "./key.ts";

export type ToolCallStatesUpdate = { readonly type: "set"; readonly call: ToolCallState } | { readonly type: "clear" };

/** A call that is over keeps neither its ticket nor its decision. */
function withoutTicket(call: ToolCallState): ToolCallState {
  if (!isToolCallOver(call.status) || (call.suspension === undefined && call.decision === undefined)) return call;
  const { suspension: _suspension, decision: _decision, ...rest } = call;
  return rest;
}

/** Where calls stand, by id. One index serves all lists that grew out of each other: what it says is looked at before it is believed. */
const places = new WeakMap<readonly ToolCallState[], Map<string, number>>();

function placesOf(calls: readonly ToolCallState[]): Map<string, number> {
  const known = places.get(calls);
  if (known !== undefined) return known;
  const made = new Map(calls.map(({ id }, index) => [id, index]));
  places.set(calls, made);
  return made;
}

function placeOf({ calls }: ToolCallStates, id: string): number | undefined {
  const place = placesOf(calls).get(id);
  return place !== undefined && calls[place]?.id === id ? place : undefined;
}

export function findCall(value: ToolCallStates, id: string): ToolCallState | undefined {
  const place = placeOf(value, id);
  return place === undefined ? undefined : value.calls[place];
}

function withCall(value: ToolCallStates, call: ToolCallState): readonly ToolCallState[] {
  const { calls } = value;
  const index = placesOf(calls);
  const place = placeOf(value, call.id);
  const next = place === undefined ? [...calls, call] : calls.with(place, call);
  if (place === undefined) index.set(call.id, calls.length);
  places.set(next, index);
  return next;
}

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
    freezeJson(call);
    return { calls: Object.freeze(withCall(value, call)) };
  },
});

/** As a record has them. */
export function storedCalls(state: PersistedState | undefined): readonly ToolCallState[] {
  const value = state?.extensions[toolCallStates.name];
  if (value === undefined) return [];
  const stored = validateSync(toolCallStatesSchema, value);
  return stored.type === "valid" ? stored.value.calls : [];
}
