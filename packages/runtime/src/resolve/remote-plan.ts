import { AwakenError, type Provider } from "@awaken/contract";
import { displayDescription, parseAgentSpec, type RemoteAgentSpec } from "@awaken/contract/spec";
import { checkEndpoint } from "../backend/backend-factory.ts";
import { DEFAULT_INFERENCE_POLICY } from "../inference/infer.ts";
import type { RunPlan } from "../loop/run-plan.ts";
import { toPlan } from "../loop/to-plan.ts";
import { compileEnv } from "../plugin/compile-env.ts";
import type { RegistrySet } from "../registry/registry-set.ts";

const NOBODY: Provider = {
  name: "nobody",
  // biome-ignore lint/correctness/useYield: its model is asked where the agent lives.
  async *stream() {
    throw new AwakenError("provider_not_found", "an agent that runs elsewhere has no model here");
  },
};

const env = compileEnv({ plugins: [] });

/** The plan of an agent that runs elsewhere: no plugin, no tool, no model, and the backend that talks to it. */
export function remotePlan(set: RegistrySet, spec: RemoteAgentSpec): RunPlan {
  const factory = checkEndpoint(set.backends.get(spec.remote.type), spec.remote, spec.id);
  const agent = parseAgentSpec(spec.id, { model: spec.remote.type, description: displayDescription(spec) });
  if (agent.type !== "local") throw new AwakenError("internal", "a plan without a model is local");
  const parts = {
    agent,
    env,
    provider: NOBODY,
    model: { provider: spec.remote.type, upstream: spec.id, maxOutputTokens: undefined, contextWindow: undefined, specs: [] },
    tools: new Map(),
    policy: DEFAULT_INFERENCE_POLICY,
  };
  return toPlan(parts, factory.build(spec.remote));
}
