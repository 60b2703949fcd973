import type { StopStats, Turn } from "@awaken/contract";
import type { StopCondition } from "@awaken/contract/spec";
import { command } from "../../phase/command.ts";
import { definePlugin, type Plugin } from "../../plugin/define-plugin.ts";
import { runLifecycle } from "../../state/run-lifecycle.ts";
import { type Late, whenThere } from "../../stream/door.ts";
import { seldom } from "../seldom-door.ts";
import type { Stop } from "./evaluate.ts";
import type { Judged } from "./judge-turn.ts";
import { stopStats } from "./stats.ts";

/** Every agent has a limit of steps. */
const overSteps = (stepCount: number, maxSteps: number): Stop | undefined =>
  maxSteps > 0 && stepCount >= maxSteps ? { type: "stopped", code: "max-steps", detail: `${stepCount} of ${maxSteps} steps` } : undefined;

/**
 * Ends a run that does not end by itself: judged once after each inference, before any tool runs.
 * A resumed run keeps its clock and its counts.
 */
export function stopPolicy(maxSteps: number, conditions: readonly StopCondition[] = []): Plugin {
  const judge = (before: StopStats, turn: Turn, now: number): Late<Judged> => {
    const reason = overSteps(before.stepCount + 1, maxSteps);
    if (conditions.length === 0) return { update: { type: "turn", turn }, reason };
    return whenThere(seldom.open(), ({ judgeTurn }) => judgeTurn(conditions, { before, turn, now, reason }));
  };
  return definePlugin({
    id: conditions.length === 0 ? "stop-condition:max-steps" : "stop-condition",
    register(r) {
      r.state(stopStats);
      r.hook("runStart", ({ state, clock }) =>
        state.get(stopStats) === undefined ? command().update(stopStats, { type: "start", at: clock.now() }) : undefined,
      );
      r.hook("afterInference", ({ state, turn, clock }) => {
        const before = state.get(stopStats) ?? stopStats.initial();
        return whenThere(judge(before, turn, clock.now()), ({ update, reason }) => {
          const change = command().update(stopStats, update);
          return reason === undefined ? change : change.update(runLifecycle, { type: "done", termination: reason, at: clock.now() });
        });
      });
    },
  });
}
