import type { StopCondition } from "@awaken/contract/spec";
import { command } from "../../phase/command.ts";
import { definePlugin, type Plugin } from "../../plugin/define-plugin.ts";
import { runLifecycle } from "../../state/run-lifecycle.ts";
import { Door, type Late, whenThere } from "../../stream/door.ts";
import type { Evidence, Stop } from "./evaluate.ts";
import { stopStats } from "./stats.ts";

/** Most agents have no conditions of their own. */
export const judging = new Door(() => import("./evaluate.ts"));

/** Every agent has a limit of steps. */
const overSteps = (stepCount: number, maxSteps: number): Stop | undefined =>
  maxSteps > 0 && stepCount >= maxSteps ? { type: "stopped", code: "max-steps", detail: `${stepCount} of ${maxSteps} steps` } : undefined;

/**
 * Ends a run that does not end by itself: judged once after each inference, before any tool runs.
 * A resumed run keeps its clock and its counts.
 */
export function stopPolicy(maxSteps: number, conditions: readonly StopCondition[] = []): Plugin {
  const judge = (stepCount: number, gather: () => Evidence): Late<Stop | undefined> => {
    const stop = overSteps(stepCount, maxSteps);
    if (stop !== undefined || conditions.length === 0) return stop;
    const evidence = gather();
    return whenThere(judging.open(), ({ firstStop }) => firstStop(conditions, evidence));
  };
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
        const before = state.get(stopStats) ?? stopStats.initial();
        const gather = () => ({ stats: stopStats.apply(before, update), turn, now: clock.now() });
        return whenThere(judge(before.stepCount + 1, gather), (reason) => {
          const change = command().update(stopStats, update);
          return reason === undefined ? change : change.update(runLifecycle, { type: "done", termination: reason, at: clock.now() });
        });
      });
    },
  });
}
