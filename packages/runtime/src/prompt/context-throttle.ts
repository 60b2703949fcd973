import { defineRuntimeState } from "../state/key.ts";
import { lateSchema } from "../state/late-schema.ts";

export interface Shown {
  readonly lastStep: number;
  readonly contentHash: string;
}

type Entries = { [key: string]: Shown };

/** When each context message with a cooldown was put into the prompt last, and what it said. */
export const contextThrottle = defineRuntimeState("context_throttle", {
  schema: lateSchema((room) => room.contextThrottleSchema),
  initial: (): { entries: Entries } => ({ entries: {} }),
  apply: (value, { key, ...shown }: Shown & { readonly key: string }): { entries: Entries } => ({
    entries: { ...value.entries, [key]: shown },
  }),
});
