import { errorMessage, type Termination } from "@awaken/contract";
import { type Command, extendCommand } from "../phase/command.ts";
import { activeAgent } from "../state/active-agent.ts";
import { createProfileAccess } from "../state/profile.ts";
import type { ActiveAgent, RunContext } from "./run-context.ts";
import type { RunPlan } from "./run-plan.ts";

type Seat = Pick<RunContext, "options" | "identity" | "transcript" | "signal" | "clock" | "profileStore">;

/** A plan as the active one of this run, with the run's frontend tools over its own. */
export function seatAgent(run: Seat, plan: RunPlan): ActiveAgent {
  const { frontendTools } = run.options;
  const tools =
    frontendTools.length === 0 ? plan.tools : new Map([...plan.tools, ...frontendTools.map((tool) => [tool.id, tool] as const)]);
  const descriptors = [...tools.values()].map((tool) => tool.descriptor).sort((a, b) => (a.id < b.id ? -1 : 1));
  const scene = {
    agent: plan.agent,
    identity: run.identity,
    messages: run.transcript.messages,
    signal: run.signal,
    clock: run.clock,
    profile: createProfileAccess({ store: run.profileStore, keys: plan.env.profileKeys }),
  };
  return { plan, tools, descriptors, scene, unbind: () => {} };
}

function together(commands: readonly (Command | undefined)[]): Command | undefined {
  return commands.reduce((all, one) => (all === undefined || one === undefined ? (all ?? one) : extendCommand(all, one)), undefined);
}

/** Whatever plugin fails to let go, the others do; and of those that are bound before one fails, none is forgotten. */
function bindPlugins(ctx: RunContext): void {
  const undo: (() => void)[] = [];
  ctx.active.unbind = () => {
    for (const unbind of undo.splice(0)) {
      try {
        unbind();
      } catch (thrown) {
        ctx.log.error(`a plugin could not be unbound: ${errorMessage(thrown)}`, { runId: ctx.identity.runId });
      }
    }
  };
  const run = {
    signal: ctx.signal,
    snapshot: () => ctx.state.snapshot(),
    submit: (command: Command) => ctx.phases.submit(command),
    send: ctx.inbox.push.bind(ctx.inbox),
  };
  for (const plugin of ctx.active.plan.env.plugins) {
    const unbind = plugin.onBind?.(run);
    if (unbind !== undefined) undo.push(unbind);
  }
}

/** The keys of the agent's plugins are there before any of them acts. */
export async function activateAgent(ctx: RunContext): Promise<void> {
  const { env, agent } = ctx.active.plan;
  ctx.state.register(env.stateKeys);
  bindPlugins(ctx);
  const state = ctx.state.snapshot();
  const change = together(env.plugins.map((plugin) => plugin.onActivate?.(agent, state)));
  if (change !== undefined) await ctx.phases.submit(change);
}

async function deactivateAgent(ctx: RunContext): Promise<void> {
  const state = ctx.state.snapshot();
  const change = together(ctx.active.plan.env.plugins.map((plugin) => plugin.onDeactivate?.(state)));
  if (change !== undefined) await ctx.phases.submit(change);
  ctx.active.unbind();
}

/** Between two steps: when the state names another agent, that agent goes on with this run. Gives a termination when it cannot. */
export async function followHandoff(ctx: RunContext): Promise<Termination | undefined> {
  const wanted = ctx.state.snapshot().get(activeAgent);
  if (wanted === undefined || wanted === null || wanted === ctx.active.plan.agent.id) return undefined;
  let plan: RunPlan;
  try {
    plan = await ctx.replan(wanted);
  } catch (thrown) {
    return { type: "blocked", reason: `handoff resolve failed: ${errorMessage(thrown)}` };
  }
  ctx.state.register(plan.env.stateKeys);
  await deactivateAgent(ctx);
  Object.assign(ctx.active, seatAgent(ctx, plan));
  ctx.phases.setTable(plan.env);
  await activateAgent(ctx);
  return undefined;
}
