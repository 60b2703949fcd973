import {
  checkOptions,
  type HookPhase,
  type JsonValue,
  needed,
  type PartRules,
  PHASES,
  RULES,
  type Schema,
  shorten,
} from "@awaken/contract";
import { checkName } from "../state/key.ts";

/** One-shot work for a phase. Its payload is plain JSON, checked again when the action runs. */
export interface Action<P extends JsonValue> {
  readonly key: string;
  readonly phase: HookPhase;
  readonly payload: Schema<P>;
}

const ACTION: PartRules<Omit<Action<JsonValue>, "key">> = {
  phase: needed(RULES.oneOf(...PHASES.filter((phase) => phase !== "toolGate"))),
  payload: needed(RULES.schema),
};

export function defineAction<P extends JsonValue>(
  key: string,
  init: { readonly phase: HookPhase; readonly payload: Schema<P> },
): Action<P> {
  checkName("an action", key);
  checkOptions("invalid_definition", `action '${shorten(key)}'`, init, ACTION);
  return Object.freeze({ key, phase: init.phase, payload: init.payload });
}
