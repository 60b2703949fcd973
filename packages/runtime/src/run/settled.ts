import {
  AwakenError,
  concludeRecord,
  isSettled,
  type RunId,
  type RunRecord,
  runIdentity,
  type SettledRun,
  runId as toRunId,
} from "@awaken/contract";
import { isLeft, type LoopOutcome, type LoopResult } from "../loop/finish.ts";
import { lastWords } from "../loop/messages.ts";
import { RunBell } from "./run-bell.ts";
import type { RunParts } from "./run-parts.ts";
import { ticketsBelow } from "./tickets-below.ts";

export async function loadRun(parts: RunParts, id: string): Promise<RunRecord> {
  const run = await parts.records.runs.load(toRunId(id));
  if (run === undefined) throw new AwakenError("run_not_found", `run not found: ${id}`, { details: { runId: id } });
  return run;
}

/** The same as its executor gives. A run that waits has said something too: it stands in the log. */
async function recordedResult({ records }: RunParts, run: SettledRun): Promise<LoopResult> {
  const outcome = run.status === "done" ? run.outcome : undefined;
  const conclusion = concludeRecord(run);
  const messages = outcome === undefined ? (await records.threads.loadHead(run.threadId))?.messages : undefined;
  return {
    runId: run.runId,
    threadId: run.threadId,
    text: outcome?.response ?? lastWords(messages ?? [], run.runId),
    status: run.status,
    waitingReason: run.status === "waiting" ? run.waiting.reason : undefined,
    termination: conclusion.termination,
    steps: run.steps,
    usage: run.usage,
    tickets: run.status === "waiting" ? await ticketsBelow(records, runIdentity(run)) : [],
    output: outcome?.output,
    isOutputAsked: run.activation.options.output !== undefined,
  };
}

/** Of a run that is executed here; one that leaves before its end is followed wherever it goes on. */
export async function followed(parts: RunParts, result: Promise<LoopOutcome>): Promise<LoopResult> {
  const ended = await result;
  return isLeft(ended) ? settled(parts, ended.runId, Number.POSITIVE_INFINITY) : ended;
}

/** Resolves when the run is over or waits, by its executor if that is here, else by its record. */
export async function settled(parts: RunParts, id: RunId, until: number): Promise<LoopResult> {
  const here = parts.active.byRun(id)?.result;
  const ended = here === undefined ? undefined : await here;
  if (ended !== undefined && !isLeft(ended)) return ended;
  // Whoever asks for a run that is not there, or is over, listens to nothing. What comes between the two looks is seen by the second.
  const first = await loadRun(parts, id);
  if (isSettled(first)) return recordedResult(parts, first);
  using bell = new RunBell(parts.live, id);
  for (;;) {
    const active = parts.active.byRun(id);
    if (active?.result !== undefined) {
      const ending = await active.result;
      if (!isLeft(ending)) return ending;
      await active.released;
    }
    const run = await loadRun(parts, id);
    if (isSettled(run)) return recordedResult(parts, run);
    if (parts.active.byRun(id) !== undefined) continue;
    const left = until - parts.clock.now();
    if (left <= 0) {
      throw new AwakenError("timeout", `run '${id}' is ${run.status}, and nobody here executes it: if it was cut off, resume it`, {
        details: { runId: id, status: run.status },
      });
    }
    await bell.wait(parts.clock, left, parts.closing);
    if (parts.closing.aborted) throw new AwakenError("cancelled", "the runtime is closed");
  }
}
