import { type StopStats, stopStatsSchema, type Turn } from "@awaken/contract";
import { defineTrustedState } from "../../state/key.ts";

const KEPT_TEXTS = 64;

export type StopStatsUpdate = { readonly type: "start"; readonly at: number } | { readonly type: "turn"; readonly turn: Turn };

export const stopStats = defineTrustedState("stop_condition_stats", {
  schema: stopStatsSchema,
  initial: (): StopStats => ({
    stepCount: 0,
    totalInputTokens: 0,
    totalOutputTokens: 0,
    startTimeMs: 0,
    consecutiveErrors: 0,
    recentTexts: [],
  }),
  apply(value, update: StopStatsUpdate): StopStats {
    if (update.type === "start") return { ...value, startTimeMs: update.at };
    const { turn } = update;
    const isError = turn.stopReason === "error";
    return {
      ...value,
      stepCount: value.stepCount + 1,
      totalInputTokens: value.totalInputTokens + turn.usage.inputTokens,
      totalOutputTokens: value.totalOutputTokens + turn.usage.outputTokens,
      consecutiveErrors: isError ? value.consecutiveErrors + 1 : 0,
      recentTexts: turn.text === "" ? value.recentTexts : [...value.recentTexts, turn.text].slice(-KEPT_TEXTS),
    };
  },
});
