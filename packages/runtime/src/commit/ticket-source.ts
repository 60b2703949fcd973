import type { RunIdentity, ToolCallState } from "@awaken/contract";
import type { RunState } from "../state/run-state.ts";
import { toolCallStates } from "../state/tool-call-states.ts";

/** A run, as far as its tickets are concerned. */
export interface TicketSource {
  readonly state: RunState;
  readonly identity: RunIdentity;
}

const NO_CALLS: readonly ToolCallState[] = Object.freeze([]);

export const callsOf = ({ state }: Pick<TicketSource, "state">): readonly ToolCallState[] => state.get(toolCallStates)?.calls ?? NO_CALLS;
