import type { HookPhase, JsonValue, Message, ToolDescriptor } from "@awaken/contract";
import type { Action } from "../phase/action.ts";
import type { Effect } from "../phase/effect.ts";
import type { ActionHandler, EffectHandler, Hook } from "../phase/hook.ts";
import type { StateKey } from "../state/key.ts";
import type { ProfileKey } from "../state/profile.ts";
import type { Gate, Policy } from "../tool/gate.ts";
import type { Tool } from "../tool/tool.ts";

/** Rewrites the messages of a request, after the prompt is assembled. Pure and synchronous; sees the tools and cannot change them. */
export type Transform = (messages: readonly Message[], tools: readonly ToolDescriptor[]) => readonly Message[];

/**
 * Everything a plugin can bring. Keys and handlers stay when an agent's filter leaves the plugin out;
 * hooks, gates, tools and transforms do not.
 */
export interface Registrar {
  state<V, U>(key: StateKey<V, U>): void;
  profile<T>(key: ProfileKey<T>): void;
  action<P extends JsonValue>(action: Action<P>, handler: ActionHandler<P>): void;
  effect<P extends JsonValue>(effect: Effect<P>, handler: EffectHandler<P>): void;
  hook<P extends HookPhase>(phase: P, hook: Hook<P>): void;
  gate(gate: Gate): void;
  /** A gate over flat facts. */
  policy(policy: Policy): void;
  tool(tool: Tool): void;
  transform(transform: Transform): void;
}
