import type { PersistedState } from "@awaken/contract";
import { isOfToday, versionOf } from "./stored-value.ts";
import { toolCallStates } from "./tool-call-states.ts";

/** Whether the state of a thread says nothing but how the calls of its last step ended: all else is read by what is loaded for it. */
export const isPlainState = (state: PersistedState): boolean =>
  Object.entries(state.extensions).every(
    ([name, stored]) => name === toolCallStates.name && isOfToday(toolCallStates, stored, versionOf(state, name)),
  );
