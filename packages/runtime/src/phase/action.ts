import type { HookPhase, JsonValue, Schema } from "@awaken/contract";

/** One-shot work for a phase. Its payload is plain JSON, checked again when the action runs. */
export interface Action<P extends JsonValue> {
  readonly key: string;
  readonly phase: HookPhase;
  readonly payload: Schema<P>;
}

export function defineAction<P extends JsonValue>(
  key: string,
  init: { readonly phase: HookPhase; readonly payload: Schema<P> },
): Action<P> {
  return Object.freeze({ key, phase: init.phase, payload: init.payload });
}
