import { AwakenError, checkOptions, type RunRecord, runId as toRunId } from "@awaken/contract";
import { resumeOrder } from "../loop/resume-order.ts";
import { WAIT_OPTIONS, type WaitOptions } from "./control.ts";
import { withFamily } from "./family-usage.ts";
import type { RunParts } from "./run-parts.ts";
import type { RunResult } from "./run-result.ts";
import { followed, loadRun, settled } from "./settled.ts";
import { startRun } from "./start-run.ts";
import { toUntypedResult } from "./untyped-result.ts";

const WAIT_MS = 300_000;

/** The result of a run: when it is over or waits. One that another process executes is answered from its record, when that says so. */
export async function wait(parts: RunParts, id: string, options: WaitOptions = {}): Promise<RunResult> {
  checkOptions("invalid_activation", "wait", options, WAIT_OPTIONS);
  const { timeoutMs = WAIT_MS } = options;
  return toUntypedResult(await withFamily(parts, await settled(parts, toRunId(id), parts.clock.now() + timeoutMs)));
}

/** Somebody may still decide about everything that it waits for. */
function isUndecided(run: RunRecord, now: number): boolean {
  if (run.status !== "waiting" || run.waiting.tickets.length === 0) return false;
  return !run.waiting.tickets.some(({ expiresAt }) => expiresAt !== undefined && now >= expiresAt);
}

/** Goes on with a run that was cut off. A run that is over, or waits for a decision that has not expired, has nothing to go on with. */
export async function resume(parts: RunParts, id: string): Promise<RunResult> {
  const run = await loadRun(parts, id);
  if (run.status === "done" || isUndecided(run, parts.clock.now())) {
    throw new AwakenError("invalid_resume", `invalid resume: run '${id}' is ${run.status}`, { details: { runId: id, status: run.status } });
  }
  return toUntypedResult(await withFamily(parts, await followed(parts, startRun(parts, resumeOrder(run, [])).result)));
}
