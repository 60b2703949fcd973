import {
  type CompactionSection,
  type CompactionState,
  compactionOrderSchema,
  compactionSectionSchema,
  consoleLog,
  errorMessage,
  type Log,
  type Provider,
} from "@awaken/contract";
import type { ContextPolicy } from "@awaken/contract/spec";
import { DEFAULT_INFERENCE_POLICY, type InferencePolicy } from "../../inference/infer.ts";
import { type Command, command } from "../../phase/command.ts";
import { defineEffect } from "../../phase/effect.ts";
import type { HookScene } from "../../phase/hook.ts";
import { definePlugin, type Plugin } from "../../plugin/define-plugin.ts";
import { type FittingRoom, fitting } from "../../prompt/fitting-door.ts";
import { type Late, whenThere } from "../../stream/door.ts";
import type { Ids } from "../../stream/ids.ts";
import { compacting } from "./compacting-door.ts";
import { compactionState } from "./compaction-state.ts";
import { RunCompactions } from "./compaction-task.ts";

type Room = Awaited<ReturnType<typeof compacting.open>>;

/** A summary that keeps failing for the same messages is not tried for ever. */
const MAX_FAILURES = 3;

export interface CompactionInit {
  readonly policy: ContextPolicy;
  /** Writes the summaries. */
  readonly provider: Provider;
  /** The agent's model, for summaries too unless the section names another. */
  readonly model: string;
  readonly ids: Ids;
  /** How stubborn a summary is tried for. */
  readonly inference?: InferencePolicy;
  readonly log?: Log;
}

/** Emitted with the commit that sets the marker: who loses that commit to a conflict starts nothing. */
const startCompaction = defineEffect("context_compaction.start", { payload: compactionOrderSchema });

/** Doing it again for the same messages would end the same way. */
function isGivenUp({ skipped, failures }: CompactionState, upTo: string): boolean {
  return skipped.some((entry) => entry.upTo === upTo) || failures.filter((entry) => entry.upTo === upTo).length >= MAX_FAILURES;
}

function isOver({ estimateInstructions, estimateMessages }: FittingRoom, threshold: number, { agent, messages }: HookScene): boolean {
  return estimateInstructions(agent.instructions) + estimateMessages(messages) >= threshold;
}

/**
 * Replaces old messages by a summary once the conversation weighs `autocompactThreshold`. The summary is written in the background
 * while the run goes on, and enters at a boundary.
 */
export function compaction(init: CompactionInit): Plugin {
  const { policy, provider, model, ids, log = consoleLog } = init;
  const threshold = policy.autocompactThreshold;
  const active = new Set<RunCompactions>();
  const find = (scene: HookScene) => [...active].find((compactions) => compactions.isOf(scene));

  const begin = ({ planCompaction }: Room, scene: HookScene): Command | undefined => {
    const compactions = find(scene);
    const state = scene.state.get(compactionState) ?? compactionState.initial();
    if (compactions === undefined || (state.inFlight !== undefined && compactions.owns(state.inFlight.taskId))) return undefined;
    const plan = planCompaction(scene.messages, policy, (upTo) => isGivenUp(state, upTo));
    if (plan === undefined) return undefined;
    const taskId = ids();
    return command()
      .update(compactionState, { type: "start", task: { taskId, upTo: plan.upTo, startedAt: scene.clock.now() } })
      .emit(startCompaction, { taskId, ...plan });
  };
  const trigger = (at: number, scene: HookScene): Late<Command | undefined> => {
    const begun = whenThere(fitting.open(), (weighing) =>
      isOver(weighing, at, scene) ? whenThere(compacting.open(), (room) => begin(room, scene)) : undefined,
    );
    if (!(begun instanceof Promise)) return begun;
    return begun.catch((thrown) => {
      log.warn(`the conversation could not be summarised: ${errorMessage(thrown)}`);
      return undefined;
    });
  };

  return definePlugin<CompactionSection>({
    id: "context_compaction",
    section: "compaction",
    config: compactionSectionSchema,
    register(r, section) {
      r.state(compactionState);
      const summarizer = { provider, model, ids, section, policy: init.inference ?? DEFAULT_INFERENCE_POLICY, log };
      r.effect(startCompaction, (order, scene) => find(scene)?.start(summarizer, order, scene.clock));
      if (threshold !== undefined && section.mode === "on") r.hook("beforeInference", (scene) => trigger(threshold, scene));
    },
    onBind(run) {
      const compactions = new RunCompactions(run);
      active.add(compactions);
      return () => {
        active.delete(compactions);
        compactions.cancel();
      };
    },
  });
}
