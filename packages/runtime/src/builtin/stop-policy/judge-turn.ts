import type { StopStats, Turn } from "@awaken/contract";
import type { StopCondition } from "@awaken/contract/spec";
import { callMark } from "./call-mark.ts";
import { firstStop, type Stop } from "./evaluate.ts";
import { type Recent, type StopStatsUpdate, stopStats } from "./stats.ts";

/** What a turn changes in the stats, and why the run ends with it, if it does. */
export interface Judged {
  readonly update: StopStatsUpdate;
  readonly reason: Stop | undefined;
}

function recentWith(before: StopStats, turn: Turn, conditions: readonly StopCondition[]): Recent | undefined {
  const kept = conditions.reduce((most, one) => (one.type === "loop-detection" ? Math.max(most, one.window) : most), 0);
  if (kept === 0) return undefined;
  return {
    recentCalls: [...(before.recentCalls ?? []), callMark(turn)].slice(-kept),
    recentTexts: turn.text === "" ? before.recentTexts : [...before.recentTexts, turn.text].slice(-kept),
  };
}

/** `reason`: what ends the run already. */
export function judgeTurn(
  conditions: readonly StopCondition[],
  {
    before,
    turn,
    now,
    reason,
  }: { readonly before: StopStats; readonly turn: Turn; readonly now: number; readonly reason: Stop | undefined },
): Judged {
  const update = { type: "turn", turn, recent: recentWith(before, turn, conditions) } as const;
  return { update, reason: reason ?? firstStop(conditions, { stats: stopStats.apply(before, update), turn, now }) };
}
