import type { RunId, ToolCallState, WaitingReason } from "@awaken/contract";
import { seldom } from "../commit/seldom-door.ts";
import type { StateReader } from "../state/snapshot.ts";
import { toolCallStates } from "../state/tool-call-states.ts";

const NONE: readonly never[] = Object.freeze([]);

export const waitingCalls = (state: StateReader): readonly ToolCallState[] =>
  state.get(toolCallStates)?.calls.filter(({ status }) => status === "suspended") ?? NONE;

/** Runs that calls of this one wait for. */
export function openChildren(state: StateReader): readonly RunId[] {
  const waiting = waitingCalls(state);
  return waiting.length === 0 ? NONE : seldom.here.childrenOf(waiting);
}

/** Why a run waits whose calls do: for people, as long as one of them can be decided. */
export function waitingReason(state: StateReader): WaitingReason {
  const calls = waitingCalls(state);
  return calls.length > 0 && seldom.here.childrenOf(calls).length === calls.length ? "child-run" : "suspended";
}
