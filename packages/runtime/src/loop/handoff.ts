import { type AgentEvent, AwakenError, copyJson, errorMessage } from "@awaken/contract";
import { type Command, extendCommand } from "../phase/command.ts";
import type { LiveRun, Plugin } from "../plugin/define-plugin.ts";
import { activeAgent } from "../state/active-agent.ts";
import { createProfileAccess } from "../state/profile.ts";
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

/** What all of them want, in one. */
export function together(plugins: readonly Plugin[], ask: (plugin: Plugin) => Command | undefined): Command | undefined {
  let all: Command | undefined;
  for (const plugin of plugins) {
    const one = ask(plugin);
    all = all === undefined || one === undefined ? (all ?? one) : extendCommand(all, one);
  }
  return all;
}

/** A listener that fails costs the run nothing but a line in the log. */
function guarded({ log, identity }: RunContext, listen: (event: AgentEvent) => void): (event: AgentEvent) => void {
  return (event) => {
    try {
      listen(event);
    } catch (thrown) {
      log.error(`a plugin failed to hear '${event.type}': ${errorMessage(thrown)}`, { runId: identity.runId });
    }
  };
}

/** The run as a plugin sees it for as long as it is bound: with whatever agent acts. */
function liveRun(ctx: RunContext, bindings: (() => void)[]): LiveRun {
  const { scopeId, identity, principal, extras, messages, signal, clock } = ctx.active.scene;
  return {
    ...{ scopeId, identity, principal, extras, messages, signal, clock },
    get agent() {
      return ctx.active.scene.agent;
    },
    get tools() {
      return ctx.active.scene.tools;
    },
    get profile() {
      return ctx.active.scene.profile;
    },
    isContinuation: ctx.isContinuation,
    listen: (listen) => bindings.push(ctx.listeners.watch(guarded(ctx, listen))),
    snapshot: () => ctx.state.snapshot(),
    submit: (command: Command) => ctx.phases.submit(command),
    send: (item) => ctx.inbox.push(item.type === "messages" ? { ...item, messages: copyJson(item.messages) } : item),
  };
}

/** Of plugins that are bound before one fails, none is forgotten. One that the agent before had too is bound already. */
function bindPlugins(ctx: RunContext): void {
  const { active } = ctx;
  for (const plugin of active.plan.env.plugins) {
    if (plugin.onBind === undefined || active.bindings?.has(plugin) === true) continue;
    const own: (() => void)[] = [];
    active.bindings ??= new Map();
    active.bindings.set(plugin, own);
    const unbind = plugin.onBind(liveRun(ctx, own));
    if (unbind !== undefined) own.push(unbind);
  }
}

/** Takes the plugins' hold on the run away, but for those that stay. Whatever plugin fails to let go, the others do. */
export function unbindPlugins(ctx: RunContext, staying: readonly Plugin[] = []): void {
  const { bindings } = ctx.active;
  if (bindings === undefined) return;
  for (const [plugin, held] of bindings) {
    if (staying.includes(plugin)) continue;
    bindings.delete(plugin);
    for (const unbind of held) tryUnbind(ctx, unbind);
  }
}

function tryUnbind({ log, identity }: RunContext, unbind: () => void): void {
  try {
    unbind();
  } catch (thrown) {
    log.error(`a plugin could not be unbound: ${errorMessage(thrown)}`, { runId: identity.runId });
  }
}

/** To be called when the keys of the agent's plugins are there. Undefined when there is nothing to wait for. */
export function activateAgent(ctx: RunContext): Promise<void> | undefined {
  const { env, agent } = ctx.active.plan;
  bindPlugins(ctx);
  const state = ctx.state.snapshot();
  const change = together(env.plugins, (plugin) => plugin.onActivate?.(agent, state));
  return change === undefined ? undefined : ctx.phases.submit(change);
}

/** The agent that the state names, when it is another one than the one that acts. */
export function nextAgent(ctx: RunContext): string | undefined {
  const wanted = ctx.state.snapshot().get(activeAgent) ?? undefined;
  return wanted === ctx.active.plan.agent.id ? undefined : wanted;
}

/** An agent that runs elsewhere where one is needed that runs here. */
export const remoteRefusal = (id: string): AwakenError =>
  new AwakenError("resolve_failed", `remote agent \`${id}\` cannot be resolved locally — use it as a delegate instead`, {
    details: { agentId: id },
  });
