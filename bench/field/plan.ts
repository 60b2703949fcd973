import type { Settings } from "./workloads.ts";

/** One column of the tables. */
export interface Variant {
  readonly name: string;
  /** The adapter that drives it; a peer of that name has to be installed, unless it is `bare` or `awaken`. */
  readonly adapter: string;
  readonly label: string;
  readonly workloads: readonly string[];
}

export const WORKLOADS = ["W1", "W1 warm", "W2", "W2 warm", "W3", "W3 warm", "W4", "W5", "W6"] as const;

const RUNS = ["W1", "W2", "W3", "W4", "W5"];
/** Played by those that are compared to the bare loop alone: each takes ten seconds more. */
const WARM = ["W1 warm", "W2 warm", "W3 warm"];

export const VARIANTS: readonly Variant[] = [
  { name: "bare", adapter: "bare", label: "bare loop", workloads: [...RUNS, ...WARM, "W6"] },
  { name: "awaken", adapter: "awaken", label: "awaken", workloads: [...RUNS, ...WARM, "W6"] },
  { name: "awaken-claims", adapter: "awaken", label: "awaken, tools with effects", workloads: ["W2", "W2 warm", "W3", "W3 warm"] },
  { name: "awaken-sqlite", adapter: "awaken", label: "awaken + SQLite (full)", workloads: ["W6"] },
  { name: "awaken-sqlite-normal", adapter: "awaken", label: "awaken + SQLite (normal)", workloads: ["W6"] },
  { name: "pi", adapter: "pi", label: "pi", workloads: [...RUNS, ...WARM, "W6"] },
  { name: "ai-generate", adapter: "ai", label: "ai (generate)", workloads: ["W1", "W2", "W3"] },
  { name: "ai", adapter: "ai", label: "ai (stream)", workloads: [...RUNS, "W6"] },
  { name: "openai-agents", adapter: "openai-agents", label: "OpenAI agents", workloads: [...RUNS, "W6"] },
  { name: "voltagent", adapter: "voltagent", label: "VoltAgent", workloads: [...RUNS, "W6"] },
  { name: "langchain", adapter: "langchain", label: "LangChain", workloads: RUNS },
  { name: "langchain-memory", adapter: "langchain", label: "LangChain + MemorySaver", workloads: [...RUNS, "W6"] },
  { name: "langchain-sqlite", adapter: "langchain", label: "LangChain + SqliteSaver (normal)", workloads: ["W6"] },
  { name: "mastra", adapter: "mastra", label: "Mastra", workloads: [...RUNS, "W6"] },
  { name: "mastra-libsql", adapter: "mastra", label: "Mastra + libsql (normal)", workloads: ["W6"] },
];

export interface Row {
  readonly workload: (typeof WORKLOADS)[number];
  readonly what: string;
  /** The figure that is shown as a ratio to the bare loop, or as it is. */
  readonly figure: string;
  readonly unit: "ratio" | "plain";
  readonly target: string;
}

/** The lines of the tables, in their order, for runs of these sizes. */
export function rowsOf({ concurrent, marks }: Settings): readonly Row[] {
  const [early = 0, late = 0] = marks;
  return [
    { workload: "W1", what: "one text turn, 20 deltas", figure: "us", unit: "ratio", target: "5.2" },
    { workload: "W1 warm", what: "the same after ten seconds", figure: "us", unit: "ratio", target: "" },
    { workload: "W2", what: "ten tool steps and a text", figure: "us", unit: "ratio", target: "10 (12)" },
    { workload: "W2 warm", what: "the same after ten seconds", figure: "us", unit: "ratio", target: "" },
    { workload: "W3", what: "eight parallel tools and a text", figure: "us", unit: "ratio", target: "7 (9)" },
    { workload: "W3 warm", what: "the same after ten seconds", figure: "us", unit: "ratio", target: "" },
    { workload: "W4", what: "5,000 deltas", figure: "us", unit: "ratio", target: "1.7" },
    { workload: "W5", what: `${concurrent.toLocaleString("en-US")} concurrent runs, wall`, figure: "wallMs", unit: "ratio", target: "3.5" },
    { workload: "W5", what: "the same in a young process", figure: "youngMs", unit: "ratio", target: "" },
    { workload: "W5", what: "live heap per parked run, KiB", figure: "parkedKiB", unit: "plain", target: "13" },
    { workload: "W6", what: `one more turn after ${early}, ms`, figure: "earlyMs", unit: "plain", target: "" },
    { workload: "W6", what: `one more turn after ${late}, ms`, figure: "lateMs", unit: "plain", target: "1.3 times that" },
    { workload: "W6", what: `bytes stored by a turn after ${early}`, figure: "earlyBytes", unit: "plain", target: "7,000" },
    { workload: "W6", what: `bytes stored by a turn after ${late}`, figure: "lateBytes", unit: "plain", target: "7,000" },
  ];
}
