import { AwakenError, type Provider } from "@awaken/contract";
import { parseAgentSpec } from "@awaken/contract/spec";
import { DEFAULT_INFERENCE_POLICY } from "../../inference/infer.ts";
import { compileEnv } from "../../plugin/compile-env.ts";
import type { RunPlan } from "../run-plan.ts";
import { toPlan } from "../to-plan.ts";

const NOBODY: Provider = {
  name: "nobody",
  // biome-ignore lint/correctness/useYield: a run that is only ended asks no model.
  async *stream() {
    throw new AwakenError("provider_not_found", "a run that is only ended has no model");
  },
};

const env = compileEnv({ plugins: [] });

/**
 * The plan of a run that is taken up to be ended and whose own plan cannot be had: no plugin, no tool, no model. State of plugins goes
 * back as it came; only what the loop itself keeps is read, so that calls that wait are closed.
 */
export function endingPlan(agentId: string): RunPlan {
  const agent = parseAgentSpec(agentId, { model: "none" });
  if (agent.type !== "local") throw new AwakenError("internal", "a plan without a model is local");
  return toPlan({
    agent,
    env,
    provider: NOBODY,
    model: { provider: "none", upstream: agent.model, maxOutputTokens: undefined, contextWindow: undefined, specs: [] },
    tools: new Map(),
    policy: DEFAULT_INFERENCE_POLICY,
  });
}
