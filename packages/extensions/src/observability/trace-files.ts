import { appendFile, mkdir, readdir, readFile, rm, stat, truncate, writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { AwakenError, errorMessage } from "@awaken/contract";
import { isFailure, type TelemetryEvent } from "./events.ts";

/** Why a trace is kept: it is part of a dataset or of an evaluation, or somebody pinned it. */
export type TraceMark = "dataset" | "eval-run" | "pinned";

const MARKS: Readonly<Record<TraceMark, string>> = { dataset: "D", "eval-run": "E", pinned: "P" };

export interface TraceSummary {
  /** The run. */
  readonly runId: string;
  /** Its thread. */
  readonly threadId: string;
  /** Its agent. */
  readonly agentId: string;
  /** Of the agent's instructions. */
  readonly promptId?: string;
  /** The experiment that it took part in. */
  readonly experimentId?: string;
  /** Which variant of it that was. */
  readonly variantName?: string;
  /** Unix milliseconds. */
  readonly startedAt: number;
  /** How many events there are. */
  readonly events: number;
  /** Whether anything went wrong. */
  readonly finalStatus: "ok" | "error";
}

export interface StoredTrace {
  /** What there is to know without reading it. */
  readonly summary: TraceSummary;
  /** Oldest first. */
  readonly events: readonly TelemetryEvent[];
}

export interface TraceFilter {
  /** Of this agent only. */
  readonly agentId?: string;
  /** With these instructions only. */
  readonly promptId?: string;
  /** Of this experiment only. */
  readonly experimentId?: string;
  /** Of this variant only. */
  readonly variantName?: string;
  /** Started at or after this time, in Unix milliseconds. */
  readonly since?: number;
  /** How many at most. Default 100. */
  readonly limit?: number;
}

const NEW_LINE = 0x0a;
const MONTH = /^\d{4}-\d{2}$/;
const isMissing = (thrown: unknown): boolean => thrown instanceof Error && "code" in thrown && thrown.code === "ENOENT";

/** The id becomes the name of a file, so it must not be a path. */
function checkId(runId: string): string {
  if (runId === "" || runId === "." || runId === ".." || /[/\\\0]/.test(runId)) {
    throw new AwakenError("invalid_id", `'${runId}' cannot be the name of a trace`);
  }
  return runId;
}

async function orMissing<T>(work: Promise<T>, missing: T): Promise<T> {
  try {
    return await work;
  } catch (thrown) {
    if (isMissing(thrown)) return missing;
    throw thrown;
  }
}

/** What a process that died left in the middle of a line would spoil the one behind it. */
async function dropHalfLine(file: string): Promise<void> {
  const before = await orMissing(readFile(file), undefined);
  if (before === undefined || before.at(-1) === NEW_LINE) return;
  await truncate(file, before.lastIndexOf(NEW_LINE) + 1);
}

/** A last line that was cut off in the middle is left out; any other one that is no JSON is an error. */
export function readLines(text: string, name: string): readonly TelemetryEvent[] {
  const lines = text.split("\n");
  // Without a new line behind it, nobody knows whether it is whole.
  lines.pop();
  return lines.map((line, index): TelemetryEvent => {
    try {
      return JSON.parse(line);
    } catch (cause) {
      throw new AwakenError("storage_corrupt", `line ${index + 1} of trace '${name}' is no JSON: ${errorMessage(cause)}`, { cause });
    }
  });
}

function summarize(runId: string, startedAt: number, events: readonly TelemetryEvent[]): TraceSummary {
  const { threadId = "", agentId = "", promptId, experimentId, variantName } = events[0]?.context ?? {};
  return {
    ...{ runId, threadId, agentId, startedAt, events: events.length, finalStatus: events.some(isFailure) ? "error" : "ok" },
    ...(promptId === undefined ? undefined : { promptId }),
    ...(experimentId === undefined ? undefined : { experimentId }),
    ...(variantName === undefined ? undefined : { variantName }),
  };
}

/** When the first part of the run began; the time of the file where no part has ended. */
async function startOf(file: string, events: readonly TelemetryEvent[]): Promise<number> {
  return events.find((event) => event.type === "run")?.startedAt ?? (await stat(file)).mtimeMs;
}

function fits(summary: TraceSummary, { agentId, promptId, experimentId, variantName, since = 0 }: TraceFilter): boolean {
  return (
    summary.startedAt >= since &&
    (agentId ?? summary.agentId) === summary.agentId &&
    (promptId ?? summary.promptId) === summary.promptId &&
    (experimentId ?? summary.experimentId) === summary.experimentId &&
    (variantName ?? summary.variantName) === summary.variantName
  );
}

/** `<root>/<yyyy-mm>/<run>.ndjson`, with a summary in `.idx.json` and marks in `.ref` beside it. */
export class TraceFiles {
  readonly #root: string;

  constructor(root: string) {
    this.#root = root;
  }

  /** The month of a run is that of its first event that was written. */
  async append(runId: string, events: readonly TelemetryEvent[], startedAt: number): Promise<void> {
    checkId(runId);
    const month = (await this.#monthOf(runId)) ?? new Date(startedAt).toISOString().slice(0, 7);
    const folder = join(this.#root, month);
    await mkdir(folder, { recursive: true });
    const base = join(folder, runId);
    await dropHalfLine(`${base}.ndjson`);
    const summary = await this.#summaryOrEvents(base);
    await appendFile(`${base}.ndjson`, events.map((event) => `${JSON.stringify(event)}\n`).join(""));
    const isFailed = summary?.finalStatus === "error";
    const added = summarize(runId, startedAt, events);
    const whole: TraceSummary =
      summary === undefined
        ? added
        : { ...summary, events: summary.events + added.events, finalStatus: isFailed ? "error" : added.finalStatus };
    await writeFile(`${base}.idx.json`, JSON.stringify(whole));
  }

  async load(runId: string): Promise<StoredTrace | undefined> {
    const month = await this.#monthOf(checkId(runId));
    if (month === undefined) return undefined;
    const base = join(this.#root, month, runId);
    const events = readLines(await readFile(`${base}.ndjson`, "utf8"), runId);
    return { summary: (await this.#summary(base)) ?? summarize(runId, await startOf(`${base}.ndjson`, events), events), events };
  }

  async list(filter: TraceFilter): Promise<readonly TraceSummary[]> {
    const found: TraceSummary[] = [];
    for (const { base } of await this.#traces()) {
      const summary = await this.#summaryOrEvents(base);
      if (summary !== undefined && fits(summary, filter)) found.push(summary);
    }
    return found.sort((a, b) => b.startedAt - a.startedAt).slice(0, filter.limit ?? 100);
  }

  async mark(runId: string, mark: TraceMark): Promise<void> {
    const month = await this.#monthOf(checkId(runId));
    if (month === undefined) throw new AwakenError("run_not_found", `there is no trace of run '${runId}'`);
    const file = `${join(this.#root, month, runId)}.ref`;
    const marks = await orMissing(readFile(file, "utf8"), "");
    if (!marks.includes(MARKS[mark])) await writeFile(file, marks + MARKS[mark]);
  }

  async sweep(before: number): Promise<number> {
    let swept = 0;
    for (const { base } of await this.#traces()) {
      if ((await orMissing(readFile(`${base}.ref`, "utf8"), "")) !== "") continue;
      const startedAt = (await this.#summary(base))?.startedAt ?? (await stat(`${base}.ndjson`)).mtimeMs;
      if (startedAt >= before) continue;
      for (const end of [".ndjson", ".idx.json"]) await rm(`${base}${end}`, { force: true });
      swept += 1;
    }
    return swept;
  }

  async #summary(base: string): Promise<TraceSummary | undefined> {
    const text = await orMissing(readFile(`${base}.idx.json`, "utf8"), undefined);
    if (text === undefined) return undefined;
    try {
      return JSON.parse(text);
    } catch {
      // It can be made again from the events.
      return undefined;
    }
  }

  /** Also for a process that died before the index was written. Undefined for a trace that cannot be read either. */
  async #summaryOrEvents(base: string): Promise<TraceSummary | undefined> {
    const summary = await this.#summary(base);
    if (summary !== undefined) return summary;
    const text = await orMissing(readFile(`${base}.ndjson`, "utf8"), undefined);
    if (text === undefined) return undefined;
    try {
      const events = readLines(text, basename(base));
      return events.length === 0 ? undefined : summarize(basename(base), await startOf(`${base}.ndjson`, events), events);
    } catch {
      return undefined;
    }
  }

  async #months(): Promise<readonly string[]> {
    return (await orMissing(readdir(this.#root), [])).filter((name) => MONTH.test(name)).sort();
  }

  async #monthOf(runId: string): Promise<string | undefined> {
    for (const month of (await this.#months()).toReversed()) {
      const found = await orMissing(stat(join(this.#root, month, `${runId}.ndjson`)), undefined);
      if (found !== undefined) return month;
    }
    return undefined;
  }

  async #traces(): Promise<readonly { readonly base: string }[]> {
    const all = await Promise.all(
      (await this.#months()).map(async (month) => {
        const names = await readdir(join(this.#root, month));
        return names.filter((name) => name.endsWith(".ndjson")).map((name) => ({ base: join(this.#root, month, name.slice(0, -7)) }));
      }),
    );
    return all.flat();
  }
}
