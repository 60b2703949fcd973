import { type CompactionSection, compactionSectionSchema, consoleLog, errorMessage, type Log, type Provider } from "@awaken/contract";
import type { ContextPolicy } from "@awaken/contract/spec";
import { DEFAULT_INFERENCE_POLICY, type InferencePolicy } from "../../inference/infer.ts";
import type { Command } from "../../phase/command.ts";
import type { HookScene } from "../../phase/hook.ts";
import { definePlugin, type LiveRun, type Plugin } from "../../plugin/define-plugin.ts";
import { seldom as prompts, type SeldomRoom } from "../../prompt/seldom-door.ts";
import { runLifecycle } from "../../state/run-lifecycle.ts";
import { type Late, whenThere } from "../../stream/door.ts";
import type { Ids } from "../../stream/ids.ts";
import { seldom } from "../seldom-door.ts";
import { compactionState, startCompaction } from "./compaction-state.ts";

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

function isOver({ estimateInstructions, estimateMessages }: SeldomRoom, threshold: number, { agent, messages }: HookScene): boolean {
  return estimateInstructions(agent.instructions) + estimateMessages(messages) >= threshold;
}

/**
 * Replaces old messages by a summary once the conversation weighs `autocompactThreshold`. The summary is written in the background
 * while the run goes on, and enters at a boundary.
 */
export function compaction(init: CompactionInit): Plugin {
  const { policy, provider, model, ids, log = consoleLog } = init;
  const threshold = policy.autocompactThreshold;
  const runs = new Set<LiveRun>();
  const find = ({ identity }: HookScene) => [...runs].find((run) => run.snapshot().get(runLifecycle)?.runId === identity.runId);
  const trigger = (at: number, scene: HookScene): Late<Command | undefined> => {
    const begun = whenThere(prompts.open(), (weighing) =>
      isOver(weighing, at, scene) ? whenThere(seldom.open(), ({ begin }) => begin(find(scene), policy, ids, scene)) : undefined,
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
      r.effect(startCompaction, (order, scene) => {
        const run = find(scene);
        return run && whenThere(seldom.open(), ({ compactionsOf }) => compactionsOf(run).start(summarizer, order, scene.clock));
      });
      if (threshold !== undefined && section.mode === "on") r.hook("beforeInference", (scene) => trigger(threshold, scene));
    },
    onBind(run) {
      runs.add(run);
      return () => {
        runs.delete(run);
        seldom.room?.compactionsOf(run).cancel();
      };
    },
  });
}
