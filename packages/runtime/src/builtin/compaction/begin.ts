import { type CompactionOrder, type CompactionState, consoleLog } from "@awaken/contract";
import { DEFAULT_INFERENCE_POLICY } from "../../inference/infer.ts";
import { type Command, command } from "../../phase/command.ts";
import type { HookScene } from "../../phase/hook.ts";
import type { LiveRun } from "../../plugin/define-plugin.ts";
import { estimateInstructions, estimateMessages } from "../../prompt/estimate.ts";
import { runLifecycle } from "../../state/run-lifecycle.ts";
import { compactionChange } from "./compaction-changes.ts";
import { compactionState, startCompaction } from "./compaction-state.ts";
import { compactionsOf } from "./compaction-task.ts";
import type { CompactionWork } from "./compaction-work.ts";
import { planCompaction } from "./plan.ts";

/** A summary that keeps failing for the same messages is not tried for ever. */
const MAX_FAILURES = 3;

/** Doing it again for the same messages would end the same way. */
function isGivenUp({ skipped, failures }: CompactionState, upTo: string): boolean {
  return skipped.some((entry) => entry.upTo === upTo) || failures.filter((entry) => entry.upTo === upTo).length >= MAX_FAILURES;
}

const find = (runs: ReadonlySet<LiveRun>, { identity }: HookScene): LiveRun | undefined =>
  [...runs].find((run) => run.snapshot().get(runLifecycle)?.runId === identity.runId);

const isOver = (threshold: number, { agent, messages }: HookScene): boolean =>
  estimateInstructions(agent.instructions) + estimateMessages(messages) >= threshold;

/** Marks what is to be summarised; undefined when there is nothing, or somebody is at work on it. */
export function begin({ runs, policy, ids }: CompactionWork, threshold: number, scene: HookScene): Command | undefined {
  const run = isOver(threshold, scene) ? find(runs, scene) : undefined;
  const state = scene.state.get(compactionState) ?? compactionState.initial();
  if (run === undefined || (state.inFlight !== undefined && compactionsOf(run).owns(state.inFlight.taskId))) return undefined;
  const plan = planCompaction(scene.messages, policy, (upTo) => isGivenUp(state, upTo));
  if (plan === undefined) return undefined;
  const taskId = ids();
  return command()
    .update(compactionState, compactionChange({ type: "start", task: { taskId, upTo: plan.upTo, startedAt: scene.clock.now() } }))
    .emit(startCompaction, { taskId, ...plan });
}

/** In the background of the run. */
export function startSummary(
  { runs, inference, log = consoleLog, ...work }: CompactionWork,
  order: CompactionOrder,
  scene: HookScene,
): void {
  const run = find(runs, scene);
  if (run !== undefined) compactionsOf(run).start({ ...work, policy: inference ?? DEFAULT_INFERENCE_POLICY, log }, order, scene.clock);
}
