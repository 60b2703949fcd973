import { readFileSync, writeFileSync } from "node:fs";
import { cpus } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { drawChart } from "./field/chart.ts";
import { buildOurs, modulesOf } from "./field/cold-start.ts";
import { replaceGenerated } from "./field/generated.ts";
import { installedPeers } from "./field/install.ts";
import { PEERS } from "./field/peer-list.ts";
import { VARIANTS, WORKLOADS } from "./field/plan.ts";
import { play } from "./field/rounds.ts";
import { measureSizes } from "./field/sizes.ts";
import { loopTable, originLine, sizeTable, threadTable } from "./field/tables.ts";
import { FULL, QUICK } from "./field/workloads.ts";

// Our runtime beside the field, W1 to W7. A table of this folder, and its chart, is written when all of its workloads were played with all peers installed.
// npm run bench -- [--rounds n] [--workloads W1,W2] [--variants awaken,pi] [--quick]

const ALL = [...WORKLOADS, "W7"];

function readList(option: string, given: string | undefined, known: readonly string[]): readonly string[] {
  const list = given?.split(",") ?? known;
  const unknown = list.filter((name) => !known.includes(name));
  if (unknown.length === 0) return list;
  console.error(`--${option}: no such name: ${unknown.join(", ")}; there are ${known.join(", ")}`);
  process.exit(1);
}

function readArguments() {
  try {
    return parseArgs({
      options: {
        rounds: { type: "string" },
        workloads: { type: "string" },
        variants: { type: "string" },
        quick: { type: "boolean", default: false },
      },
    }).values;
  } catch (error) {
    console.error(
      `${error instanceof Error ? error.message : String(error)}\nthere are --rounds n, --workloads W1,W2, --variants a,b and --quick`,
    );
    process.exit(1);
  }
}

function readOptions() {
  const values = readArguments();
  const rounds = Number(values.rounds ?? (values.quick ? "1" : "3"));
  if (!Number.isInteger(rounds) || rounds < 1) {
    console.error(`--rounds: expected a whole number from 1, got '${values.rounds}'`);
    process.exit(1);
  }
  const names = VARIANTS.map(({ name }) => name);
  return {
    rounds,
    isQuick: values.quick,
    workloads: readList("workloads", values.workloads, ALL),
    wanted: readList("variants", values.variants, names),
    hasAllVariants: values.variants === undefined,
  };
}

const { rounds, isQuick, workloads, wanted, hasAllVariants } = readOptions();
const settings = isQuick ? QUICK : FULL;
const installed = installedPeers();
const absent = PEERS.filter((peer) => !installed.includes(peer)).map(({ name }) => name);
if (absent.length > 0) console.log(`not installed, so left out: ${absent.join(", ")} (npm run bench:peers installs them)`);

const isHere = (adapter: string) => adapter === "bare" || adapter === "awaken" || installed.some(({ name }) => name === adapter);
const variants = VARIANTS.filter(({ name, adapter }) => isHere(adapter) && (name === "bare" || wanted.includes(name)));
buildOurs();
const samples = play({
  rounds,
  isQuick,
  variants,
  workloads: workloads.filter((workload) => workload !== "W7"),
  report: (text) => console.log(text),
});
const problems: string[] = [];
const sizes = workloads.includes("W7") ? await measureSizes(isQuick ? 1 : 7, (problem) => problems.push(problem)) : [];
for (const problem of problems) console.log(`FAILED ${problem}`);

/** A module that is no package itself, such as a subpath, is of the package that its name begins with. */
const nameVersion = (module: string, dependencies: Readonly<Record<string, string>>) =>
  Object.entries(dependencies).flatMap(([name, version]) =>
    module === name || module.startsWith(`${name}/`) ? [`${name} ${version}`] : [],
  );

const origin = originLine({
  node: process.version,
  cpu: `${cpus().length} cores`,
  rounds,
  versions: installed.flatMap(({ dependencies, entry }) => modulesOf(entry).flatMap((name) => nameVersion(name, dependencies))),
});
const parts: Readonly<Record<string, string>> = {
  loop: `${loopTable(samples, variants, settings)}\n\n${origin}`,
  threads: threadTable(samples, variants, settings),
  sizes: sizes.length === 0 ? "" : sizeTable(sizes),
};
for (const text of Object.values(parts)) if (text !== "") console.log(`\n${text}`);

if (isQuick) console.log("\nquick: these numbers show that everything runs, and nothing else");
/** What the tables are made of: one is written when all of its workloads were played by everybody, and none of them failed. */
const MADE_OF: Readonly<Record<string, readonly string[]>> = {
  loop: WORKLOADS.filter((workload) => workload !== "W6"),
  threads: ["W6"],
  sizes: ["W7"],
};
const failed = new Set([...samples].flatMap(([key, rows]) => (rows.includes(undefined) ? [key.slice(0, key.lastIndexOf(" "))] : [])));
if (problems.length > 0) failed.add("W7");
const isPlayed = (workload: string) => workloads.includes(workload) && !failed.has(workload);
const isFull = !isQuick && hasAllVariants && absent.length === 0;
const written = Object.keys(parts).filter((name) => isFull && MADE_OF[name]?.every(isPlayed));
if (written.length === 0)
  console.log("\nbench/README.md stays as it is: a table is written when everybody has played all of its workloads");
else {
  const file = join(import.meta.dirname, "README.md");
  const shown: typeof parts = { ...parts, loop: `${parts["loop"]}\n\n![Ratios to the bare loop](field.svg)` };
  const document = written.reduce((text, name) => replaceGenerated(text, name, shown[name] ?? ""), readFileSync(file, "utf8"));
  writeFileSync(file, document);
  if (written.includes("loop")) writeFileSync(join(import.meta.dirname, "field.svg"), drawChart(samples, variants));
  console.log(`\nwrote into bench/README.md: ${written.join(", ")}`);
}
