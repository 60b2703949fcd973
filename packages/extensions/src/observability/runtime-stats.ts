import { AwakenError } from "@awaken/contract";
import { type Clock, systemClock } from "@awaken/runtime";
import { DurationSamples, type DurationSummary } from "./duration-samples.ts";
import { type TelemetryEvent, toolLabel } from "./events.ts";
import type { Sink } from "./sink.ts";

/** What the calls of one tool came to. */
export interface ToolStats extends DurationSummary {
  /** The id of the tool. */
  readonly tool: string;
  /** How many had their results. */
  readonly callCount: number;
  /** How many of those failed. */
  readonly failureCount: number;
}

/** What the runs of one agent came to in a window of time. */
export interface AgentStats {
  /** The agent. */
  readonly agentId: string;
  /** The window that was really used, in seconds. */
  readonly windowSeconds: number;
  /** How long a bucket is. */
  readonly bucketWindowSeconds: number;
  /** How many buckets the window has. */
  readonly bucketCount: number;
  /** Answers that were asked for. */
  readonly inferenceCount: number;
  /** How many of them failed. */
  readonly errorCount: number;
  /** Tokens that were sent. */
  readonly inputTokens: number;
  /** Tokens that were answered. */
  readonly outputTokens: number;
  /** What they cost in US dollars, as far as prices are known. */
  readonly costUsd: number;
  /** How long answers took. */
  readonly inferenceDuration: DurationSummary;
  /** Calls that began to wait. */
  readonly suspensions: number;
  /** Runs that another agent took over. */
  readonly handoffs: number;
  /** Runs that were started by this agent's. */
  readonly delegations: number;
  /** By tool, by its id. */
  readonly toolCallsByTool: readonly ToolStats[];
}

export interface RuntimeStats extends Sink {
  /** Of this agent, over a window like `1h`, `24h`, `7d`, `90s` or a number of seconds; default `24h`, which is also the longest. */
  snapshot(agentId: string, window?: string | number): AgentStats;
  /** The agents that are known. */
  agents(): readonly string[];
}

const BUCKET_MS = 600_000;
const BUCKETS = 144;
const UNITS: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3600, d: 86_400 };

function windowSeconds(window: string | number): number {
  const [, count, unit = "s"] = /^(\d+(?:\.\d+)?)([smhd])?$/.exec(String(window).trim()) ?? [];
  const seconds = Number(count) * (UNITS[unit] ?? 1);
  if (count === undefined || !(seconds > 0)) {
    throw new AwakenError("invalid_spec", `'${window}' is no window: say 1h, 24h, 7d, 90s or a number of seconds`);
  }
  return seconds;
}

class ToolTally {
  count = 0;
  failures = 0;
  readonly durations = new DurationSamples();
}

class Bucket {
  readonly index: number;
  inferences = 0;
  errors = 0;
  inputTokens = 0;
  outputTokens = 0;
  costUsd = 0;
  suspensions = 0;
  handoffs = 0;
  delegations = 0;
  readonly durations = new DurationSamples();
  readonly tools = new Map<string, ToolTally>();

  constructor(index: number) {
    this.index = index;
  }

  add(event: TelemetryEvent): void {
    switch (event.type) {
      case "inference":
        this.inferences += 1;
        if (event.errorType !== undefined) this.errors += 1;
        this.inputTokens += event.usage.inputTokens;
        this.outputTokens += event.usage.outputTokens;
        this.costUsd += event.costUsd ?? 0;
        this.durations.add(event.durationMs);
        return;
      case "tool": {
        const tool = toolLabel(event);
        const tally = this.tools.get(tool) ?? new ToolTally();
        this.tools.set(tool, tally);
        tally.count += 1;
        if (event.errorType !== undefined) tally.failures += 1;
        tally.durations.add(event.durationMs);
        return;
      }
      case "suspension":
        if (event.action === "suspended") this.suspensions += 1;
        return;
      case "handoff":
        this.handoffs += 1;
        return;
      case "delegation":
        this.delegations += 1;
        return;
      default:
    }
  }
}

function toolStats(buckets: readonly Bucket[]): readonly ToolStats[] {
  const names = [...new Set(buckets.flatMap(({ tools }) => [...tools.keys()]))].sort();
  return names.map((tool) => {
    const tallies = buckets.flatMap(({ tools }) => tools.get(tool) ?? []);
    return {
      tool,
      callCount: sum(tallies, ({ count }) => count),
      failureCount: sum(tallies, ({ failures }) => failures),
      ...DurationSamples.summarize(tallies.map(({ durations }) => durations)),
    };
  });
}

const sum = <T>(list: readonly T[], of: (each: T) => number): number => list.reduce((total, each) => total + of(each), 0);

class Stats implements RuntimeStats {
  readonly name = "runtimeStats";
  readonly #clock: Clock;
  readonly #agents = new Map<string, Bucket[]>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  record(event: TelemetryEvent): void {
    const { agentId } = event.context;
    const ring = this.#agents.get(agentId) ?? [];
    this.#agents.set(agentId, ring);
    const index = Math.floor(this.#clock.now() / BUCKET_MS);
    const slot = index % BUCKETS;
    const known = ring[slot];
    const bucket = known?.index === index ? known : new Bucket(index);
    ring[slot] = bucket;
    bucket.add(event);
  }

  agents(): readonly string[] {
    return [...this.#agents.keys()].sort();
  }

  snapshot(agentId: string, window: string | number = "24h"): AgentStats {
    const wanted = Math.ceil((windowSeconds(window) * 1000) / BUCKET_MS);
    const count = Math.min(BUCKETS, Math.max(1, wanted));
    const newest = Math.floor(this.#clock.now() / BUCKET_MS);
    const buckets = (this.#agents.get(agentId) ?? []).filter((bucket) => bucket !== undefined && bucket.index > newest - count);
    return {
      agentId,
      windowSeconds: (count * BUCKET_MS) / 1000,
      bucketWindowSeconds: BUCKET_MS / 1000,
      bucketCount: count,
      inferenceCount: sum(buckets, ({ inferences }) => inferences),
      errorCount: sum(buckets, ({ errors }) => errors),
      inputTokens: sum(buckets, ({ inputTokens }) => inputTokens),
      outputTokens: sum(buckets, ({ outputTokens }) => outputTokens),
      costUsd: sum(buckets, ({ costUsd }) => costUsd),
      inferenceDuration: DurationSamples.summarize(buckets.map(({ durations }) => durations)),
      suspensions: sum(buckets, ({ suspensions }) => suspensions),
      handoffs: sum(buckets, ({ handoffs }) => handoffs),
      delegations: sum(buckets, ({ delegations }) => delegations),
      toolCallsByTool: toolStats(buckets),
    };
  }
}

/** Counts of the last 24 hours by agent, in this process alone. */
export const runtimeStats = (clock: Clock = systemClock): RuntimeStats => new Stats(clock);
