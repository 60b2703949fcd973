import { spawnSync } from "node:child_process";
import { join } from "node:path";

// The loop against the bare loop: W1 to W5, one process per figure, variants interleaved in each round, ratios within a round.
// node --conditions=awaken-source bench/loop.ts [rounds] [workload …]

const [roundsGiven = "5", ...wanted] = process.argv.slice(2);
const rounds = Number(roundsGiven);
const workloads = wanted.length > 0 ? wanted : ["W1", "W2", "W3", "W4", "W5"];
const WHAT: Record<string, string> = {
  W1: "one text turn, 20 deltas",
  W2: "ten tool steps and a text",
  W3: "eight parallel tools and a text",
  W4: "5,000 deltas",
  W5: "1,000 concurrent runs",
};

type Figures = { readonly [name: string]: number };

function measure(variant: string, workload: string): Figures {
  const worker = join(import.meta.dirname, "loop/worker.ts");
  const args = ["--conditions=awaken-source", "--expose-gc", worker, variant, workload];
  const { stdout, stderr, status } = spawnSync(process.execPath, args, { encoding: "utf8", timeout: 300_000 });
  if (status !== 0) throw new Error(`${variant} ${workload} failed: ${stderr}`);
  return JSON.parse(stdout.trim().split("\n").at(-1) ?? "{}");
}

const median = (values: readonly number[]): number => [...values].sort((a, b) => a - b)[values.length >> 1] ?? Number.NaN;
const figure = (samples: readonly Figures[], name: string): number => median(samples.map((sample) => sample[name] ?? Number.NaN));

console.log("| | bare | awaken | ratio |\n|---|---|---|---|");
for (const workload of workloads) {
  const bare: Figures[] = [];
  const ours: Figures[] = [];
  for (let round = 0; round < rounds; round++) {
    const order = round % 2 === 0 ? (["bare", "awaken"] as const) : (["awaken", "bare"] as const);
    for (const variant of order) (variant === "bare" ? bare : ours).push(measure(variant, workload));
  }
  for (const name of Object.keys(ours[0] ?? {})) {
    const ratio = median(ours.map((sample, round) => (sample[name] ?? Number.NaN) / (bare[round]?.[name] ?? Number.NaN)));
    const cell = (value: number) => value.toFixed(value < 100 ? 1 : 0);
    console.log(
      `| ${workload} ${WHAT[workload] ?? ""} (${name}) | ${cell(figure(bare, name))} | ${cell(figure(ours, name))} | ${ratio.toFixed(1)} |`,
    );
  }
}
