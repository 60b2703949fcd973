import type { StopStats, Turn } from "@awaken/contract";
import type { StopCondition } from "@awaken/contract/spec";
import { command } from "../../phase/command.ts";
import { definePlugin, type Plugin } from "../../plugin/define-plugin.ts";
import type { Registrar } from "../../plugin/registrar.ts";
import { type RunLifecycleUpdate, runLifecycle } from "../../state/run-lifecycle.ts";
import { type Late, whenThere } from "../../stream/door.ts";
import { seldom } from "../seldom-door.ts";
import type { Stop } from "./evaluate.ts";
import type { Judged } from "./judge-turn.ts";
import { stopStats } from "./stats.ts";

/** Every agent has a limit of steps. */
const overSteps = (stepCount: number, maxSteps: number): Stop | undefined =>
  maxSteps > 0 && stepCount >= maxSteps ? { type: "stopped", code: "max-steps", detail: `${stepCount} of ${maxSteps} steps` } : undefined;

const ended = (termination: Stop, at: number): RunLifecycleUpdate => ({ type: "done", termination, at });

/**
 * Ends a run that does not end by itself: judged once after each inference, before any tool runs. A resumed run keeps its clock and its
 * counts. With nothing but a limit of steps nothing is counted, unless an agent that the run is handed over to asks for it (`isShared`):
 * that is two hooks and two commits of state less in most runs (5 % of a short one).
 */
export function stopPolicy(maxSteps: number, conditions: readonly StopCondition[] = [], isShared = false): Plugin {
  const judge = (before: StopStats, step: number, turn: Turn, now: number): Late<Judged> => {
    const reason = overSteps(step, maxSteps);
    if (conditions.length === 0) return { update: { type: "turn", turn }, reason };
    return whenThere(seldom.open(), ({ judgeTurn }) => judgeTurn(conditions, { before, turn, now, reason }));
  };
  const countSteps = (r: Registrar): void =>
    r.hook("afterInference", ({ step, clock }) => {
      const reason = overSteps(step, maxSteps);
      return reason && command().update(runLifecycle, ended(reason, clock.now()));
    });
  const keepStats = (r: Registrar): void => {
    r.hook("runStart", ({ state, clock }) =>
      state.get(stopStats) === undefined ? command().update(stopStats, { type: "start", at: clock.now(), steps: 0 }) : undefined,
    );
    r.hook("afterInference", ({ state, step, turn, clock }) => {
      const now = clock.now();
      const known = state.get(stopStats);
      // Steps of an agent that keeps none.
      const others = { type: "start", at: known?.startTimeMs ?? now, steps: step - 1 } as const;
      const isBehind = known === undefined || known.stepCount < others.steps;
      const before = isBehind ? stopStats.apply(known ?? stopStats.initial(), others) : known;
      return whenThere(judge(before, step, turn, now), ({ update, reason }) => {
        const change = isBehind ? command().update(stopStats, others) : command();
        change.update(stopStats, update);
        return reason === undefined ? change : change.update(runLifecycle, ended(reason, now));
      });
    });
  };
  return definePlugin({
    id: conditions.length === 0 ? "stop-condition:max-steps" : "stop-condition",
    register(r) {
      r.state(stopStats);
      if (conditions.length > 0 || isShared) keepStats(r);
      else countSteps(r);
    },
  });
}
