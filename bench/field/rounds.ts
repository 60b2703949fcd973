import { spawnSync } from "node:child_process";
import { join } from "node:path";
import type { Variant } from "./plan.ts";
import { median } from "./statistics.ts";
import type { Figures } from "./workloads.ts";

/** Figures by workload and variant, one entry per round; undefined where the round failed. */
export type Samples = ReadonlyMap<string, readonly (Figures | undefined)[]>;

export const keyOf = (workload: string, variant: string): string => `${workload} ${variant}`;

const TIMEOUT_MS = 600_000;

function measureOnce(variant: string, workload: string, isQuick: boolean): Figures {
  // Ours as users get it, as the peers are: what was built, and not the sources.
  const flags = ["--expose-gc", "--max-old-space-size=8192"];
  const args = [...flags, join(import.meta.dirname, "worker.ts"), variant, workload, ...(isQuick ? ["quick"] : [])];
  const { status, signal, stdout, stderr } = spawnSync(process.execPath, args, { encoding: "utf8", timeout: TIMEOUT_MS });
  if (status !== 0) throw new Error(signal === null ? stderr.trim().slice(-600) : `ended by ${signal}`);
  return JSON.parse(stdout.trim().split("\n").at(-1) ?? "");
}

export interface Order {
  readonly rounds: number;
  readonly workloads: readonly string[];
  readonly variants: readonly Variant[];
  readonly isQuick: boolean;
  /** A line per result. */
  readonly report: (line: string) => void;
}

const show = (figures: Figures): string =>
  Object.entries(figures)
    .map(([name, value]) => `${name} ${value.toPrecision(4)}`)
    .join(", ");

/** One process per result. Variants take turns within a round, and another one begins each round, so that drift hits all alike. */
export function play({ rounds, workloads, variants, isQuick, report }: Order): Samples {
  const samples = new Map<string, (Figures | undefined)[]>();
  for (let round = 0; round < rounds; round++) {
    for (const workload of workloads) {
      const players = variants.filter((variant) => variant.workloads.includes(workload));
      const first = round % Math.max(players.length, 1);
      for (const { name } of [...players.slice(first), ...players.slice(0, first)]) {
        const key = keyOf(workload, name);
        const rows = samples.get(key) ?? [];
        samples.set(key, rows);
        try {
          rows[round] = measureOnce(name, workload, isQuick);
          report(`round ${round + 1} ${workload} ${name}: ${show(rows[round] ?? {})}`);
        } catch (error) {
          rows[round] = undefined;
          report(`round ${round + 1} ${workload} ${name} FAILED: ${error instanceof Error ? error.message : String(error)}`);
        }
      }
    }
  }
  return samples;
}

/** The median over rounds; NaN where there is none. */
export function figureOf(samples: Samples, workload: string, variant: string, figure: string): number {
  return median((samples.get(keyOf(workload, variant)) ?? []).map((row) => row?.[figure] ?? Number.NaN));
}

/** The median over rounds of the ratio to the bare loop in the same round. */
export function ratioOf(samples: Samples, workload: string, variant: string, figure: string): number {
  const bare = samples.get(keyOf(workload, "bare")) ?? [];
  const rows = samples.get(keyOf(workload, variant)) ?? [];
  return median(rows.map((row, round) => (row?.[figure] ?? Number.NaN) / (bare[round]?.[figure] ?? Number.NaN)));
}
