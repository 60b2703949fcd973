/** Tokens of one or more inferences. A count that the vendor did not report is 0, an optional one is absent. */
export interface Usage {
  /** Sent, those from the cache included where the vendor counts them. */
  readonly inputTokens: number;
  /** Answered, thought included. */
  readonly outputTokens: number;
  /** As the vendor counts them together. */
  readonly totalTokens: number;
  /** Of those that were sent: read from the vendor's cache. */
  readonly cacheReadTokens?: number;
  /** Of those that were sent: written to the vendor's cache. */
  readonly cacheWriteTokens?: number;
  /** Of those that were answered: spent on thought. */
  readonly reasoningTokens?: number;
}

/** What a run used of one model. */
export interface ModelUsage {
  /** The provider that was asked, as the event of the inference names it. */
  readonly provider: string;
  /** The model that answered, as the same event names it. */
  readonly model: string;
  /** All its inferences in this run together. */
  readonly usage: Usage;
}

/** What one agent used, as often as it was run in the same place of a family. */
export interface AgentUsage {
  /** From the run that was asked for down to this agent. */
  readonly agentPath: readonly string[];
  /** How many runs. */
  readonly runs: number;
  /** All of them together. */
  readonly usage: Usage;
}

export const NO_USAGE: Usage = Object.freeze({ inputTokens: 0, outputTokens: 0, totalTokens: 0 });

/** A count, whatever the vendor said. */
const clamp = (value: number | undefined): number =>
  value !== undefined && value > 0 ? Math.floor(Math.min(value, Number.MAX_SAFE_INTEGER)) : 0;
const sum = (a: number | undefined, b: number | undefined): number => Math.min(clamp(a) + clamp(b), Number.MAX_SAFE_INTEGER);

const OPTIONAL = ["cacheReadTokens", "cacheWriteTokens", "reasoningTokens"] as const;

/** Adds saturating; negative and missing counts add nothing. */
export function addUsage(a: Usage, b: Usage): Usage {
  const total: { -readonly [Key in keyof Usage]: Usage[Key] } = {
    inputTokens: sum(a.inputTokens, b.inputTokens),
    outputTokens: sum(a.outputTokens, b.outputTokens),
    totalTokens: sum(a.totalTokens, b.totalTokens),
  };
  for (const key of OPTIONAL) if (a[key] !== undefined || b[key] !== undefined) total[key] = sum(a[key], b[key]);
  return total;
}
