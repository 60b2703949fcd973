import { type RunRecord, runId, standingOf } from "@awaken/contract";
import type { EventCursor, ScopedStore, StoredEvent } from "@awaken/contract/store";
import { CliError } from "../cli-error.ts";
import { EXIT } from "../exit-codes.ts";
import { findRecord } from "../find-record.ts";
import { openRecords } from "../load-project.ts";
import { Output, timeText } from "../output.ts";
import type { ProjectOptions, Shell } from "../shell.ts";
import { drawTrace, timeSpan } from "../trace/draw-trace.ts";
import { type RunTraceView, readTrace, type TraceSpan } from "../trace/read-trace.ts";

export interface TraceOptions extends ProjectOptions {
  readonly json?: boolean;
}

const PAGE = 200;
const MAX_DEPTH = 8;
const MIN_BAR = 20;
const MAX_BAR = 60;
/** What stands beside the bars. */
const BESIDE = 70;

async function eventsOf({ events: log }: ScopedStore, run: string): Promise<readonly StoredEvent[]> {
  const events: StoredEvent[] = [];
  let after: EventCursor | undefined;
  do {
    const page = await log.list({ type: "run", runId: runId(run) }, { limit: PAGE, ...(after === undefined ? {} : { after }) });
    events.push(...page.items);
    after = page.next;
  } while (after !== undefined);
  return events;
}

const childrenOf = (spans: readonly TraceSpan[]): readonly TraceSpan[] =>
  spans.flatMap((span) => [...(span.type === "child" ? [span] : []), ...childrenOf(span.children)]);

/** With what the runs did that it started. */
async function loadTrace(store: ScopedStore, run: string, depth = 0): Promise<RunTraceView> {
  const view = readTrace(await eventsOf(store, run));
  if (depth >= MAX_DEPTH) return view;
  for (const child of childrenOf(view.spans)) {
    if (child.runId !== undefined) child.children.push(...(await loadTrace(store, child.runId, depth + 1)).spans);
  }
  return view;
}

/** The run of this id, or the last one of the thread of this id. */
async function findRun(store: ScopedStore, id: string): Promise<RunRecord> {
  const found = await findRecord(store, id);
  if (found.type === "run") return found.run;
  const latest = await store.runs.loadLatest(found.thread.id);
  if (latest !== undefined) return latest;
  throw new CliError("run_not_found", `thread '${id}' has no run`, "`awaken runs` lists them");
}

/** A run as a waterfall: its steps with inferences and tools, what it waited for, and the runs that it started. */
export async function trace(shell: Shell, id: string, options: TraceOptions): Promise<number> {
  await using records = await openRecords({ ...options, cwd: shell.cwd, env: shell.env });
  const { store } = records;
  const out = new Output(shell);
  const run = await findRun(store, id);
  const view = await loadTrace(store, run.runId);
  if (options.json === true) {
    out.json({ type: "trace", run, ...view });
    return EXIT.ok;
  }
  const { usage } = run;
  const waited = view.pauses.reduce((sum, { from, to }) => sum + (to - from), 0);
  out.fields([
    ["run", `${run.runId} (${run.agentId}, ${standingOf(run)})`],
    ["began", timeText(run.createdAt)],
    ["lasted", `${timeSpan(run.updatedAt - run.createdAt)}${waited === 0 ? "" : `, ${timeSpan(waited)} of it not active`}`],
    ["tokens", `${usage.inputTokens} in, ${usage.outputTokens} out`],
  ]);
  const width = Math.min(MAX_BAR, Math.max(MIN_BAR, (shell.stdout.columns ?? 100) - BESIDE));
  const now = run.status === "done" ? run.updatedAt : Date.now();
  const lines = drawTrace(view, now, width);
  for (const line of lines) out.line(line);
  if (lines.length === 0) out.note("there are no events of this run that could be drawn");
  return EXIT.ok;
}
