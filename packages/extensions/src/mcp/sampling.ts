import type { HostModel } from "@awaken/runtime";
import { modelSampling } from "./answers.ts";
import type { Sampling, SamplingHandler } from "./types.ts";

export type FindModel = (id: string) => HostModel;

const toHandler = (sampling: Sampling | undefined, find: FindModel): SamplingHandler | null | undefined =>
  sampling === undefined || sampling === null || typeof sampling === "function" ? sampling : modelSampling(() => find(sampling.model));

export interface SamplerInit {
  /** For the server: `null` refuses, whoever could answer. */
  readonly fixed: Sampling | undefined;
  readonly byAgent: { readonly [agent: string]: Sampling };
  readonly find: FindModel;
  /** Agents whose calls are under way. */
  readonly agents: () => Iterable<string>;
}

/**
 * Who answers a server that asks for a model. A server does not say for which call it asks: an agent that refuses, and has a call under
 * way, refuses for all. Undefined when there is nobody who could ever answer.
 */
export function samplerOf({ fixed, byAgent, find, agents }: SamplerInit): (() => SamplingHandler | undefined) | undefined {
  const own = toHandler(fixed, find);
  const bound = new Map(Object.entries(byAgent).map(([agent, sampling]) => [agent, toHandler(sampling, find)]));
  const canAnswer = own !== undefined || [...bound.values()].some((handler) => handler !== null);
  if (own === null || !canAnswer) return undefined;
  return () => {
    const asked = [...agents()].map((agent) => bound.get(agent));
    if (asked.includes(null)) return undefined;
    return asked.find((handler) => handler !== undefined && handler !== null) ?? own;
  };
}
