import type { StopStats, Turn } from "@awaken/contract";
import { defineTrustedState } from "../../state/key.ts";
import { lateSchema } from "../../state/late-schema.ts";

/** The latest texts and calls, as many of them as somebody compares. They travel with every commit, so no more are kept. */
export type Recent = Pick<StopStats, "recentTexts" | "recentCalls">;

/** `recent`: with this turn. Undefined when nobody compares any. */
export type StopStatsUpdate =
  | {
      readonly type: "start";
      readonly at: number;
      /** Made before anybody counted. */
      readonly steps: number;
    }
  | { readonly type: "turn"; readonly turn: Turn; readonly recent?: Recent | undefined };

export const stopStats = defineTrustedState("stop_condition_stats", {
  schema: lateSchema((room) => room.stopStatsSchema),
  initial: (): StopStats => ({
    stepCount: 0,
    totalInputTokens: 0,
    totalOutputTokens: 0,
    startTimeMs: 0,
    consecutiveErrors: 0,
    recentTexts: [],
  }),
  apply(value, update: StopStatsUpdate): StopStats {
    if (update.type === "start") return { ...value, startTimeMs: update.at, stepCount: update.steps };
    const { turn, recent } = update;
    return {
      ...value,
      stepCount: value.stepCount + 1,
      totalInputTokens: value.totalInputTokens + turn.usage.inputTokens,
      totalOutputTokens: value.totalOutputTokens + turn.usage.outputTokens,
      consecutiveErrors: turn.stopReason === "error" ? value.consecutiveErrors + 1 : 0,
      ...recent,
    };
  },
});
