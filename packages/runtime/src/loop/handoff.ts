import { AwakenError } from "@awaken/contract";
import type { Plugin } from "../plugin/define-plugin.ts";
import { activeAgent } from "../state/active-agent.ts";
import { createProfileAccess } from "../state/profile.ts";
import { type Late, whenThere } from "../stream/door.ts";
import { frontendTool } from "../tool/frontend-tool.ts";
import type { ActiveAgent, RunContext } from "./run-context.ts";
import type { RunPlan } from "./run-plan.ts";
import { describeTools, listIds } from "./to-plan.ts";

type Seat = Pick<RunContext, "options" | "scopeId" | "identity" | "principal" | "transcript" | "signal" | "clock" | "profileStore">;

/** A plan as the active one of this run, with the run's frontend tools over its own. */
export function seatAgent(run: Seat, plan: RunPlan): ActiveAgent {
  const { frontendTools } = run.options;
  const hasOwn = frontendTools.length > 0;
  const tools = hasOwn ? new Map([...plan.tools, ...frontendTools.map((tool) => [tool.id, frontendTool(tool)] as const)]) : plan.tools;
  const descriptors = hasOwn ? describeTools(tools) : plan.descriptors;
  const scene = {
    agent: plan.agent,
    scopeId: run.scopeId,
    identity: run.identity,
    principal: run.principal,
    extras: run.options.extras,
    messages: run.transcript.messages,
    tools: descriptors,
    signal: run.signal,
    clock: run.clock,
    profile: createProfileAccess({ store: run.profileStore, keys: plan.env.profileKeys }),
  };
  const toolIds = hasOwn ? listIds(descriptors) : plan.toolIds;
  return { plan, tools, descriptors, toolIds, scene, bindings: undefined };
}

/** Takes the plugins' hold on the run away, but for those that stay. */
export function unbindPlugins(ctx: RunContext, staying: readonly Plugin[] = []): void {
  ctx.active.bindings?.release(staying);
}

/** To be called when the keys of the agent's plugins are there. */
export function activateAgent(ctx: RunContext): Late<void> {
  const { activating, binding, arounds } = ctx.active.plan.env;
  // With what binds plugins comes what runs work inside of what they put around it.
  const isHeld = [activating, binding, arounds.inference, arounds.tool].some(({ length }) => length > 0);
  return isHeld ? whenThere(ctx.seldom.open(), ({ bindPlugins }) => bindPlugins(ctx)) : undefined;
}

/** The agent that the state names, when it is another one than the one that acts. */
export function nextAgent(ctx: RunContext): string | undefined {
  const wanted = ctx.state.get(activeAgent) ?? undefined;
  return wanted === ctx.active.plan.agent.id ? undefined : wanted;
}

/** An agent that runs elsewhere where one is needed that runs here. */
export const remoteRefusal = (id: string): AwakenError =>
  new AwakenError("resolve_failed", `remote agent \`${id}\` cannot be resolved locally — use it as a delegate instead`, {
    details: { agentId: id },
  });
