import type { StopCondition } from "@awaken/contract/spec";
import { command } from "../../phase/command.ts";
import { definePlugin, type Plugin } from "../../plugin/define-plugin.ts";
import { runLifecycle } from "../../state/run-lifecycle.ts";
import { firstStop } from "./evaluate.ts";
import { stopStats } from "./stats.ts";

/**
 * Ends a run that does not end by itself: judged once after each inference, before any tool runs.
 * A resumed run keeps its clock and its counts.
 */
export function stopPolicy(maxSteps: number, conditions: readonly StopCondition[] = []): Plugin {
  const all: readonly StopCondition[] = [{ type: "max-steps", steps: maxSteps }, ...conditions];
  const keptTexts = conditions.reduce((most, one) => (one.type === "loop-detection" ? Math.max(most, one.window) : most), 0);
  return definePlugin({
    id: conditions.length === 0 ? "stop-condition:max-steps" : "stop-condition",
    register(r) {
      r.state(stopStats);
      r.hook("runStart", ({ state, clock }) =>
        state.get(stopStats) === undefined ? command().update(stopStats, { type: "start", at: clock.now() }) : undefined,
      );
      r.hook("afterInference", ({ state, turn, clock }) => {
        const update = { type: "turn", turn, keptTexts } as const;
        const stats = stopStats.apply(state.get(stopStats) ?? stopStats.initial(), update);
        const reason = firstStop(all, { stats, turn, now: clock.now() });
        const change = command().update(stopStats, update);
        return reason === undefined ? change : change.update(runLifecycle, { type: "done", termination: reason, at: clock.now() });
      });
    },
  });
}
