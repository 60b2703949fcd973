import type { Backend, Provider, ToolDescriptor } from "@awaken/contract";
import type { LocalAgentSpec, ModelSpec } from "@awaken/contract/spec";
import type { InferencePolicy } from "../inference/infer.ts";
import type { Env } from "../plugin/env.ts";
import type { SlotTable } from "../state/snapshot.ts";
import type { Tool } from "../tool/tool.ts";

/** How an agent runs: everything resolved, nothing left to look up. */
export interface RunPlan {
  readonly agent: LocalAgentSpec;
  readonly env: Env;
  readonly provider: Provider;
  readonly model: {
    /** The name that the provider knows it by. */
    readonly upstream: string;
    /** In the registry; a pool is its own provider. */
    readonly provider: string;
    readonly maxOutputTokens: number | undefined;
    /** What it holds, as far as anybody said; a guess of ours counts too. */
    readonly contextWindow: number | undefined;
    /** The model, or the members of the pool, as they are registered. */
    readonly specs: readonly ModelSpec[];
  };
  /** What the agent may call, by id, after its catalogue was applied. */
  readonly tools: ReadonlyMap<string, Tool>;
  readonly policy: InferencePolicy;
  /** What the model is told of the tools, by id. All runs of a plan share them, so that none may change them. */
  readonly descriptors: readonly ToolDescriptor[];
  /** Of the descriptors, in their order. */
  readonly toolIds: readonly string[];
  /** Where its steps happen; undefined: here, in the loop. */
  readonly backend: Backend | undefined;
  /** Every run of a plan has the same state keys. */
  readonly slots: SlotTable;
}
