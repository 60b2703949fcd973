import type { JsonValue, Schema } from "@awaken/contract";

/** External I/O after a commit. Nothing waits for its meaning: failure is counted and logged, never undone. */
export interface Effect<P extends JsonValue> {
  readonly key: string;
  readonly payload: Schema<P>;
}

export function defineEffect<P extends JsonValue>(key: string, init: { readonly payload: Schema<P> }): Effect<P> {
  return Object.freeze({ key, payload: init.payload });
}
