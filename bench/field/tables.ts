import { type Row, rowsOf, type Variant } from "./plan.ts";
import { figureOf, ratioOf, type Samples } from "./rounds.ts";
import type { Size } from "./sizes.ts";
import type { Settings } from "./workloads.ts";

/** Three digits, and thousands in groups; a dash where there is no number. */
export function digits(value: number | undefined): string {
  if (value === undefined || !Number.isFinite(value)) return "–";
  const rounded = Number(value.toPrecision(value >= 1_000 ? 4 : value >= 100 ? 3 : 2));
  return rounded.toLocaleString("en-US", { maximumFractionDigits: 3 });
}

const line = (cells: readonly string[]): string => `| ${cells.join(" | ")} |`;

export const table = (head: readonly string[], rows: readonly (readonly string[])[]): string =>
  [line(head), `|${head.map(() => "---|").join("")}`, ...rows.map(line)].join("\n");

const UNITS: Readonly<Record<string, string>> = { us: "µs", wallMs: "ms", youngMs: "ms" };

function cellOf(samples: Samples, { workload, figure, unit }: Row, { name }: Variant): string {
  const value = figureOf(samples, workload, name, figure);
  if (unit !== "ratio") return digits(value);
  const ratio = digits(ratioOf(samples, workload, name, figure));
  return Number.isFinite(value) && (name === "bare" || name === "awaken") ? `${ratio} (${digits(value)} ${UNITS[figure]})` : ratio;
}

/** Variants without a number in any of the rows get no column. */
function fieldTable(samples: Samples, variants: readonly Variant[], rows: readonly Row[]): string {
  const played = rows.filter((row) => variants.some(({ name }) => samples.has(`${row.workload} ${name}`)));
  if (played.length === 0) return "";
  const columns = variants.filter(({ name }) => played.some((row) => samples.has(`${row.workload} ${name}`)));
  return table(
    ["", ...columns.map(({ label }) => label), "target"],
    played.map((row) => [`${row.workload} ${row.what}`, ...columns.map((variant) => cellOf(samples, row, variant)), row.target]),
  );
}

/** Single runs, W1 to W5. */
export function loopTable(samples: Samples, variants: readonly Variant[], settings: Settings): string {
  const rows = rowsOf(settings).filter(({ workload }) => workload !== "W6");
  return fieldTable(samples, variants, rows);
}

/** Long threads, W6. */
export function threadTable(samples: Samples, variants: readonly Variant[], settings: Settings): string {
  const rows = rowsOf(settings).filter(({ workload }) => workload === "W6");
  return fieldTable(samples, variants, rows);
}

export const sizeTable = (sizes: readonly Size[]): string =>
  table(
    [
      "",
      "import, ms over bare node",
      "install, MiB",
      "packages",
      "bundle without zod, kB min + gzip",
      "Node modules in it",
      "type instantiations",
    ],
    sizes.map(({ name, importMs, installMiB, packages, gzipKB, nodeModules, instantiations }) => [
      name,
      ...[importMs, installMiB, packages, gzipKB, nodeModules, instantiations].map(digits),
    ]),
  );

/** What a generated part says about where it comes from. */
export interface Origin {
  readonly node: string;
  readonly cpu: string;
  readonly rounds: number;
  readonly versions: readonly string[];
}

export function originLine({ node, cpu, rounds, versions }: Origin): string {
  return `Node ${node}, ${cpu}, ${rounds === 1 ? "one round" : `median of ${rounds} rounds`}. ${[...new Set(versions)].join(", ")}.`;
}
