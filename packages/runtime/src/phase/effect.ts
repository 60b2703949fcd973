import { checkOptions, type JsonValue, needed, type PartRules, RULES, type Schema, shorten } from "@awaken/contract";
import { checkName } from "../state/key.ts";

/** External I/O after a commit. Nothing waits for its meaning: failure is counted and logged, never undone. */
export interface Effect<P extends JsonValue> {
  /** Unique among the effects of all plugins. */
  readonly key: string;
  /** Checks what is emitted. */
  readonly payload: Schema<P>;
}

const EFFECT: PartRules<Omit<Effect<JsonValue>, "key">> = { payload: needed(RULES.schema) };

/** Declares an effect. A plugin registers its handler; commands emit it. */
export function defineEffect<P extends JsonValue>(
  key: string,
  init: {
    /** What it is given; plain JSON. */
    readonly payload: Schema<P>;
  },
): Effect<P> {
  checkName("an effect", key);
  checkOptions("invalid_definition", `effect '${shorten(key)}'`, init, EFFECT);
  return Object.freeze({ key, payload: init.payload });
}
