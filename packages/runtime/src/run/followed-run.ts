import type { AgentEvent, RunId, ThreadId } from "@awaken/contract";
import type { LoopOutcome, LoopResult } from "../loop/finish.ts";
import type { Hearer } from "../stream/listeners.ts";
import type { ActiveRun } from "./active-runs.ts";
import { withFamily } from "./family-usage.ts";
import type { RunParts } from "./run-parts.ts";
import type { RunStream } from "./run-stream.ts";
import { followed } from "./settled.ts";
import { followRun, recordedRun } from "./stream-of-run.ts";
import { wait } from "./wait.ts";

/** A run whose end is read from its record. */
export const recorded = (parts: RunParts, run: { readonly runId: RunId; readonly threadId: ThreadId }): RunStream =>
  recordedRun(run, () => wait(parts, run.runId));

/** What a run of this process comes to, wherever: there it tells what happens. */
export const counted =
  (parts: RunParts, result: Promise<LoopOutcome>) =>
  async (told: Hearer<AgentEvent>): Promise<LoopResult> =>
    withFamily(parts, await followed(parts, result, told));

export const followActive = (parts: RunParts, run: ActiveRun): RunStream =>
  run.result === undefined ? recorded(parts, run) : followRun(run, counted(parts, run.result));
