import { type StopStats, stopStatsSchema, type Turn } from "@awaken/contract";
import { defineTrustedState } from "../../state/key.ts";
import { callMark } from "./call-mark.ts";

/** `keptTexts`: how many of the latest texts somebody compares. They travel with every commit, so no more are kept. */
export type StopStatsUpdate =
  | { readonly type: "start"; readonly at: number }
  | { readonly type: "turn"; readonly turn: Turn; readonly keptTexts: number };

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
    const { turn, keptTexts } = update;
    const isError = turn.stopReason === "error";
    const counted = {
      ...value,
      stepCount: value.stepCount + 1,
      totalInputTokens: value.totalInputTokens + turn.usage.inputTokens,
      totalOutputTokens: value.totalOutputTokens + turn.usage.outputTokens,
      consecutiveErrors: isError ? value.consecutiveErrors + 1 : 0,
    };
    if (keptTexts === 0) return counted;
    return {
      ...counted,
      recentCalls: [...(value.recentCalls ?? []), callMark(turn)].slice(-keptTexts),
      recentTexts: turn.text === "" ? value.recentTexts : [...value.recentTexts, turn.text].slice(-keptTexts),
    };
  },
});
