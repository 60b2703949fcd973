import { type AgentEvent, errorMessage } from "@awaken/contract";
import { type Command, extendCommand } from "../phase/command.ts";
import type { LiveRun, Plugin } from "../plugin/define-plugin.ts";
import { sentItem } from "../plugin/sent.ts";
import type { Late } from "../stream/door.ts";
import type { Bindings, RunContext } from "./run-context.ts";

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
function liveRun(ctx: RunContext, own: (() => void)[]): LiveRun {
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
    listen: (listen) => own.push(ctx.listeners.watch(guarded(ctx, listen))),
    snapshot: () => ctx.state.snapshot(),
    submit: (command: Command) => ctx.phases.submit(command),
    send: (item) => ctx.inbox.push(sentItem(item)),
  };
}

/** What the plugins of a run hold of it. */
class HeldBindings implements Bindings {
  readonly #ctx: RunContext;
  readonly #held = new Map<Plugin, (() => void)[]>();

  constructor(ctx: RunContext) {
    this.#ctx = ctx;
  }

  /** Of plugins that are bound before one fails, none is forgotten. One that the agent before had too is bound already. */
  bind(plugins: readonly Plugin[]): void {
    for (const plugin of plugins) {
      if (plugin.onBind === undefined || this.#held.has(plugin)) continue;
      const own: (() => void)[] = [];
      this.#held.set(plugin, own);
      const unbind = plugin.onBind(liveRun(this.#ctx, own));
      if (unbind !== undefined) own.push(unbind);
    }
  }

  /** Whatever plugin fails to let go, the others do. */
  release(staying: readonly Plugin[]): void {
    for (const [plugin, held] of this.#held) {
      if (staying.includes(plugin)) continue;
      this.#held.delete(plugin);
      for (const unbind of held) this.#try(unbind);
    }
  }

  #try(unbind: () => void): void {
    try {
      unbind();
    } catch (thrown) {
      const { log, identity } = this.#ctx;
      log.error(`a plugin could not be unbound: ${errorMessage(thrown)}`, { runId: identity.runId });
    }
  }
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

/** The plugins of the agent that acts: bound first, then told that it does. */
export function bindPlugins(ctx: RunContext): Late<void> {
  const { env, agent } = ctx.active.plan;
  ctx.active.bindings ??= new HeldBindings(ctx);
  ctx.active.bindings.bind(env.binding);
  const state = ctx.state.snapshot();
  const change = together(env.activating, (plugin) => plugin.onActivate?.(agent, state));
  return change === undefined ? undefined : ctx.phases.submit(change);
}
