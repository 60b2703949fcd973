import type { HookPhase, JsonValue, Message, ToolDescriptor } from "@awaken/contract";
import type { Action } from "../phase/action.ts";
import type { Effect } from "../phase/effect.ts";
import type { ActionHandler, EffectHandler, Hook } from "../phase/hook.ts";
import type { StateKey } from "../state/key.ts";
import type { ProfileKey } from "../state/profile.ts";
import type { Gate, Policy } from "../tool/gate.ts";
import type { Tool } from "../tool/tool.ts";
import type { Around, AroundWork } from "./around.ts";
import type { ToolSource } from "./tool-source.ts";

/** Rewrites the messages of a request, after the prompt is assembled. Pure and synchronous; sees the tools and cannot change them. */
export type Transform = (messages: readonly Message[], tools: readonly ToolDescriptor[]) => readonly Message[];

/**
 * Everything a plugin can bring. Keys and handlers stay when an agent's filter leaves the plugin out;
 * hooks, gates, tools and transforms do not.
 */
export interface Registrar {
  /** A key of state. Two plugins may not own one name. */
  state<V, U>(key: StateKey<V, U>): void;
  /** A key of data that outlives threads. */
  profile<T>(key: ProfileKey<T>): void;
  /** What happens when an action of this kind is due. Each action has one handler. */
  action<P extends JsonValue>(action: Action<P>, handler: ActionHandler<P>): void;
  /** What happens when an effect of this kind was committed. Each effect has one handler. */
  effect<P extends JsonValue>(effect: Effect<P>, handler: EffectHandler<P>): void;
  /** Code for a phase. Several run together, on one snapshot. */
  hook<P extends HookPhase>(phase: P, hook: Hook<P>): void;
  /** Code that decides whether a call may run. The strictest verdict wins. */
  gate(gate: Gate): void;
  /** A gate over flat facts. */
  policy(policy: Policy): void;
  /** A tool for the agents that have the plugin. */
  tool(tool: Tool): void;
  /** Tools that come and go. Each run reads the list when it starts; a tool whose id is taken is left out, with a warning. */
  tools(source: ToolSource): void;
  /** Surrounds each inference, or each execution of a tool, e.g. with a trace context. Several nest, the first one outermost. */
  around<W extends AroundWork>(work: W, around: Around<W>): void;
  /** Rewrites the messages of a request. Several run one after the other. */
  transform(transform: Transform): void;
}
