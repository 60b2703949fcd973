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
  /** Unique among the actions of all plugins. */
  readonly key: string;
  /** When it runs: at the next such phase. */
  readonly phase: HookPhase;
  /** Checks the payload again when the action runs: it may have been stored in between. */
  readonly payload: Schema<P>;
}

const ACTION: PartRules<Omit<Action<JsonValue>, "key">> = {
  phase: needed(RULES.oneOf(...PHASES.filter((phase) => phase !== "toolGate"))),
  payload: needed(RULES.schema),
};

/** Declares an action. A plugin registers its handler; commands schedule it. */
/* @__NO_SIDE_EFFECTS__ */
export function defineAction<P extends JsonValue>(
  key: string,
  init: {
    /** When it runs: at the next such phase. */
    readonly phase: HookPhase;
    /** What it is given; plain JSON. */
    readonly payload: Schema<P>;
  },
): Action<P> {
  checkName("an action", key);
  checkOptions("invalid_definition", `action '${shorten(key)}'`, init, ACTION);
  return Object.freeze({ key, phase: init.phase, payload: init.payload });
}
