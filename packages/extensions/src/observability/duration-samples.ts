const MAX_SAMPLES = 1024;

/** Upper bounds of the histogram, in milliseconds; the last bar has what is longer. */
export const DURATION_BOUNDS: readonly number[] = [10, 25, 50, 100, 250, 500, 1000, 2500, 5000, 10_000];

export interface DurationSummary {
  /** All together, in milliseconds. */
  readonly totalMs: number;
  /** The mean; 0 without any. */
  readonly avgMs: number;
  /** The shortest. */
  readonly minMs: number;
  /** The longest. */
  readonly maxMs: number;
  /** Half are not longer. */
  readonly p50Ms: number;
  /** 95 of 100 are not longer. */
  readonly p95Ms: number;
  /** 99 of 100 are not longer. */
  readonly p99Ms: number;
  /** How many were at most 10, 25, 50, 100, 250, 500, 1000, 2500, 5000, 10000 ms and longer than the bound before; the last bar has the rest. */
  readonly histogram: readonly number[];
}

/** How long things took. Sums are exact; percentiles are of the first 1024. */
export class DurationSamples {
  readonly #samples: number[] = [];
  readonly #histogram = Array.from({ length: DURATION_BOUNDS.length + 1 }, () => 0);
  #count = 0;
  #totalMs = 0;
  #minMs = Number.POSITIVE_INFINITY;
  #maxMs = 0;

  add(ms: number): void {
    this.#count += 1;
    this.#totalMs += ms;
    this.#minMs = Math.min(this.#minMs, ms);
    this.#maxMs = Math.max(this.#maxMs, ms);
    const found = DURATION_BOUNDS.findIndex((bound) => ms <= bound);
    const bar = found === -1 ? DURATION_BOUNDS.length : found;
    this.#histogram[bar] = (this.#histogram[bar] ?? 0) + 1;
    if (this.#samples.length < MAX_SAMPLES) this.#samples.push(ms);
  }

  /** Of all of them together: samples are merged, percentiles are never averaged. */
  static summarize(all: readonly DurationSamples[]): DurationSummary {
    const sorted = all.flatMap((each) => each.#samples).sort((a, b) => a - b);
    const count = all.reduce((sum, each) => sum + each.#count, 0);
    const totalMs = all.reduce((sum, each) => sum + each.#totalMs, 0);
    const percentile = (part: number): number => sorted[Math.max(0, Math.ceil(part * sorted.length) - 1)] ?? 0;
    return {
      totalMs,
      avgMs: count === 0 ? 0 : totalMs / count,
      minMs: count === 0 ? 0 : Math.min(...all.map((each) => each.#minMs)),
      maxMs: Math.max(0, ...all.map((each) => each.#maxMs)),
      p50Ms: percentile(0.5),
      p95Ms: percentile(0.95),
      p99Ms: percentile(0.99),
      histogram: DURATION_BOUNDS.concat(0).map((_, bar) => all.reduce((sum, each) => sum + (each.#histogram[bar] ?? 0), 0)),
    };
  }
}
