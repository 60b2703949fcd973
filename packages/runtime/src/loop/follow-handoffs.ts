import { errorMessage, type Termination } from "@awaken/contract";
import { together } from "./bindings.ts";
import { activateAgent, nextAgent, remoteRefusal, seatAgent, unbindPlugins } from "./handoff.ts";
import type { RunContext } from "./run-context.ts";
import type { RunPlan } from "./run-plan.ts";

/** Plugins that the next agent has too stay bound. */
async function deactivateAgent(ctx: RunContext, next: RunPlan): Promise<void> {
  const state = ctx.state.snapshot();
  const change = together(ctx.active.plan.env.plugins, (plugin) => plugin.onDeactivate?.(state));
  if (change !== undefined) await ctx.phases.submit(change);
  unbindPlugins(ctx, next.env.plugins);
}

/** Another agent goes on with this run. Gives a termination when it cannot. */
async function handOver(ctx: RunContext, wanted: string): Promise<Termination | undefined> {
  let plan: RunPlan;
  try {
    plan = await ctx.plans.replan(wanted);
    if (plan.backend !== undefined) throw remoteRefusal(wanted);
  } catch (thrown) {
    return { type: "blocked", reason: `handoff resolve failed: ${errorMessage(thrown)}` };
  }
  ctx.state.register(plan.env.stateKeys);
  await deactivateAgent(ctx, plan);
  const { bindings } = ctx.active;
  Object.assign(ctx.active, seatAgent(ctx, plan), { bindings });
  ctx.phases.table = plan.env;
  await activateAgent(ctx);
  return undefined;
}

/** Between two steps: whoever the state names goes on. Agents that only hand over to each other, and never infer, end the run. */
export async function followHandoffs(ctx: RunContext): Promise<Termination | undefined> {
  let count = 0;
  for (let wanted = nextAgent(ctx); wanted !== undefined; wanted = nextAgent(ctx)) {
    const { maxSteps } = ctx.active.plan.agent;
    if (++count > maxSteps) return { type: "blocked", reason: `more than ${maxSteps} handoffs without an inference` };
    const refused = await handOver(ctx, wanted);
    if (refused !== undefined) return refused;
  }
  return undefined;
}
