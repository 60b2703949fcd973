import { type CompactionSection, compactionSectionSchema, consoleLog, errorMessage } from "@awaken/contract";
import { definePlugin, type LiveRun, type Plugin } from "../../plugin/define-plugin.ts";
import { whenThere } from "../../stream/door.ts";
import { seldom } from "../seldom-door.ts";
import { compactionState, startCompaction } from "./compaction-state.ts";
import type { CompactionInit, CompactionWork } from "./compaction-work.ts";

/**
 * Replaces old messages by a summary once the conversation weighs `autocompactThreshold`. The summary is written in the background
 * while the run goes on, and enters at a boundary.
 */
export function compaction(init: CompactionInit): Plugin {
  const { log = consoleLog } = init;
  const threshold = init.policy.autocompactThreshold;
  const runs = new Set<LiveRun>();
  return definePlugin<CompactionSection>({
    id: "context_compaction",
    section: "compaction",
    config: compactionSectionSchema,
    register(r, section) {
      const work: CompactionWork = { ...init, section, runs };
      r.state(compactionState);
      r.effect(startCompaction, (order, scene) => whenThere(seldom.open(), ({ startSummary }) => startSummary(work, order, scene)));
      if (threshold === undefined || section.mode !== "on") return;
      r.hook("beforeInference", (scene) => {
        const begun = whenThere(seldom.open(), ({ begin }) => begin(work, threshold, scene));
        if (!(begun instanceof Promise)) return begun;
        return begun.catch((thrown) => {
          log.warn(`the conversation could not be summarised: ${errorMessage(thrown)}`);
          return undefined;
        });
      });
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
