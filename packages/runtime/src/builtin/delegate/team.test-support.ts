import { type InferenceRequest, messageText } from "@awaken/contract";
import type { AgentSpecInput } from "@awaken/contract/spec";
import { createRuntime, type RuntimeInit } from "../../create-runtime.ts";
import type { ScriptedTurn } from "../../testing/script.ts";
import { type ScriptedProvider, type ScriptStep, scripted } from "../../testing/scripted.ts";

export interface Member {
  readonly turns: readonly ScriptStep[];
  readonly spec?: AgentSpecInput;
}

/** Agents that each have a model of their own, so that what one says does not depend on when others speak. */
export function team(members: { readonly [id: string]: Member }, init: Partial<RuntimeInit> = {}) {
  const models: Record<string, ScriptedProvider> = {};
  const agents: Record<string, AgentSpecInput> = {};
  for (const [id, { turns, spec = {} }] of Object.entries(members)) {
    models[id] = scripted(turns, init.clock === undefined ? {} : { clock: init.clock });
    agents[id] = { model: id, description: `The ${id}`, ...spec };
  }
  const runtime = createRuntime({
    providers: models,
    models: Object.fromEntries(Object.keys(members).map((id) => [id, { provider: id, model: "m" }])),
    agents,
    log: { warn() {}, error() {} },
    ...init,
  });
  return { runtime, models };
}

/** Turns for a model that may be asked in several processes: what it says depends on the conversation alone. */
export const always = (say: (last: { readonly role: string; readonly text: string }) => ScriptedTurn): readonly ScriptStep[] =>
  new Array<ScriptStep>(200).fill((request: InferenceRequest) => {
    const last = request.messages.at(-1);
    return say({ role: last?.role ?? "user", text: last === undefined ? "" : messageText(last) });
  });
