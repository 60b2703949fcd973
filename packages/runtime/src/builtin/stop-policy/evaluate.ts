import type { StopStats, Termination, Turn } from "@awaken/contract";
import { compileContentPattern, type StopCondition } from "@awaken/contract/spec";

export type Stop = Extract<Termination, { type: "stopped" }>;

export interface Evidence {
  readonly stats: StopStats;
  readonly turn: Turn;
  readonly now: number;
}

const stop = (code: string, detail: string): Stop => ({ type: "stopped", code, detail });

function isSameText(texts: readonly string[], window: number): boolean {
  const last = texts.slice(-window);
  return window >= 2 && last.length === window && last[0] !== "" && last.every((text) => text === last[0]);
}

function matchContent(pattern: string, text: string): Stop | undefined {
  if (pattern === "") return undefined;
  let regex: RegExp;
  try {
    regex = compileContentPattern(pattern);
  } catch {
    return stop("content-match-invalid-regex", `'${pattern}' is not a regular expression`);
  }
  return regex.test(text) ? stop("content-match", `the answer matches '${pattern}'`) : undefined;
}

/** Whether one condition ends the run now. A limit of 0 never does. */
function evaluate(condition: StopCondition, { stats, turn, now }: Evidence): Stop | undefined {
  switch (condition.type) {
    case "max-steps":
      return condition.steps > 0 && stats.stepCount >= condition.steps
        ? stop("max-steps", `${stats.stepCount} of ${condition.steps} steps`)
        : undefined;
    case "timeout":
      return condition.seconds > 0 && now - stats.startTimeMs > condition.seconds * 1000
        ? stop("timeout", `over ${condition.seconds} s`)
        : undefined;
    case "token-budget": {
      const total = stats.totalInputTokens + stats.totalOutputTokens;
      return condition.maxTotal > 0 && total > condition.maxTotal
        ? stop("token-budget", `${total} of ${condition.maxTotal} tokens`)
        : undefined;
    }
    case "consecutive-errors":
      return condition.max > 0 && stats.consecutiveErrors >= condition.max
        ? stop("consecutive-errors", `${stats.consecutiveErrors} in a row`)
        : undefined;
    case "stop-on-tool":
      return turn.toolCalls.some((call) => call.name === condition.toolName) ? stop("stop-on-tool", condition.toolName) : undefined;
    case "content-match":
      return matchContent(condition.pattern, turn.text);
    case "loop-detection":
      if (isSameText(stats.recentTexts, condition.window)) return stop("loop-detection", `${condition.window} equal answers`);
      return isSameText(stats.recentCalls ?? [], condition.window)
        ? stop("loop-detection", `the same calls in ${condition.window} steps`)
        : undefined;
  }
}

/** The first condition that fires, in order. */
export function firstStop(conditions: readonly StopCondition[], evidence: Evidence): Stop | undefined {
  for (const condition of conditions) {
    const reason = evaluate(condition, evidence);
    if (reason !== undefined) return reason;
  }
  return undefined;
}
