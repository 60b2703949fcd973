import type { CompactionState } from "@awaken/contract";
import type { ContextPolicy } from "@awaken/contract/spec";
import { type Command, command } from "../../phase/command.ts";
import type { HookScene } from "../../phase/hook.ts";
import type { LiveRun } from "../../plugin/define-plugin.ts";
import type { Ids } from "../../stream/ids.ts";
import { compactionChange } from "./compaction-changes.ts";
import { compactionState, startCompaction } from "./compaction-state.ts";
import { compactionsOf } from "./compaction-task.ts";
import { planCompaction } from "./plan.ts";

/** A summary that keeps failing for the same messages is not tried for ever. */
const MAX_FAILURES = 3;

/** Doing it again for the same messages would end the same way. */
function isGivenUp({ skipped, failures }: CompactionState, upTo: string): boolean {
  return skipped.some((entry) => entry.upTo === upTo) || failures.filter((entry) => entry.upTo === upTo).length >= MAX_FAILURES;
}

/** Marks what is to be summarised; undefined when there is nothing, or somebody is at work on it. */
export function begin(run: LiveRun | undefined, policy: ContextPolicy, ids: Ids, scene: HookScene): Command | undefined {
  const state = scene.state.get(compactionState) ?? compactionState.initial();
  if (run === undefined || (state.inFlight !== undefined && compactionsOf(run).owns(state.inFlight.taskId))) return undefined;
  const plan = planCompaction(scene.messages, policy, (upTo) => isGivenUp(state, upTo));
  if (plan === undefined) return undefined;
  const taskId = ids();
  return command()
    .update(compactionState, compactionChange({ type: "start", task: { taskId, upTo: plan.upTo, startedAt: scene.clock.now() } }))
    .emit(startCompaction, { taskId, ...plan });
}
