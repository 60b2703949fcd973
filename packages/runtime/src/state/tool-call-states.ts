import {
  areOverCalls,
  canToolCallMove,
  freezeJson,
  isToolCallOver,
  type PersistedState,
  type ToolCallState,
  type ToolCallStates,
  validateSync,
} from "@awaken/contract";
import { defineTrustedState } from "./key.ts";
import { lateSchema } from "./late-schema.ts";

export type ToolCallStatesUpdate = { readonly type: "set"; readonly call: ToolCallState } | { readonly type: "clear" };

/** A call that is over keeps neither its ticket nor its decision. */
function withoutTicket(call: ToolCallState): ToolCallState {
  if (!isToolCallOver(call.status) || (call.suspension === undefined && call.decision === undefined)) return call;
  const { suspension: _suspension, decision: _decision, ...rest } = call;
  return rest;
}

const PLACES = Symbol("places");

/** So many are searched as quickly as they are looked up: an index of one call is 0.2 KiB, in the record too. */
const FEW = 16;

/**
 * Where calls stand, by id, as a field of a long list that no reader of JSON sees. One index serves all lists that grew out of each other:
 * what it says is looked at before it is believed. A list that came from a record has none: it is searched, until a call of it changes.
 */
type CallList = readonly ToolCallState[] & { readonly [PLACES]?: Map<string, number> };

function placeOf(calls: CallList, id: string): number {
  const index = calls[PLACES];
  if (index !== undefined) {
    const place = index.get(id) ?? -1;
    return calls[place]?.id === id ? place : -1;
  }
  // A loop, and a spread below: on a list that is frozen `findIndex` and `concat` leave compiled code (3 % of W3).
  for (let place = 0; place < calls.length; place++) if (calls[place]?.id === id) return place;
  return -1;
}

export function findCall({ calls }: ToolCallStates, id: string): ToolCallState | undefined {
  const place = placeOf(calls, id);
  return place === -1 ? undefined : calls[place];
}

/** A list that is spread has room for sixteen more: most steps have one call. */
const added = (calls: CallList, call: ToolCallState): ToolCallState[] => (calls.length === 0 ? [call] : [...calls, call]);

function withCall(calls: CallList, call: ToolCallState): CallList {
  const place = placeOf(calls, call.id);
  const next = place === -1 ? added(calls, call) : calls.with(place, call);
  if (next.length <= FEW) return Object.freeze(next);
  const index = calls[PLACES] ?? new Map(calls.map(({ id }, at) => [id, at]));
  if (place === -1) index.set(call.id, calls.length);
  return Object.freeze(Object.defineProperty(next, PLACES, { value: index }));
}

const NO_CALLS: ToolCallStates = Object.freeze({ calls: Object.freeze([]) });

const anySchema = lateSchema((room) => room.toolCallStatesSchema);

/** Calls that are over are read without it: most threads have no others. */
const schema: typeof anySchema = { ...anySchema, fits: (value, depth) => areOverCalls(value) || anySchema.fits(value, depth) };

/** The state machine of each tool call of the current step. It belongs to the thread, so that a waiting call outlives its run's process. */
export const toolCallStates = defineTrustedState("tool_call_states", {
  scope: "thread",
  merge: "commutative",
  schema,
  initial: () => NO_CALLS,
  refuse(value, update: ToolCallStatesUpdate) {
    if (update.type === "clear") return undefined;
    const from = findCall(value, update.call.id)?.status ?? "new";
    const to = update.call.status;
    return canToolCallMove(from, to) ? undefined : `tool call '${update.call.id}' is ${from} and cannot become ${to}`;
  },
  apply(value, update: ToolCallStatesUpdate): ToolCallStates {
    if (update.type === "clear") return NO_CALLS;
    const call = withoutTicket(update.call);
    freezeJson(call);
    return Object.freeze({ calls: withCall(value.calls, call) });
  },
});

/** As a record has them. Whoever reads others than those that are over has loaded their schema. */
export function storedCalls(state: PersistedState | undefined): readonly ToolCallState[] {
  const value = state?.extensions[toolCallStates.name];
  if (value === undefined) return [];
  if (areOverCalls(value)) return value.calls;
  const stored = validateSync(schema, value);
  return stored.type === "valid" ? stored.value.calls : [];
}
