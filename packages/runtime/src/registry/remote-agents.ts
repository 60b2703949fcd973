import { AwakenError, errorMessage } from "@awaken/contract";
import type { RemoteAgentSpecInput } from "@awaken/contract/spec";
import type { RegistryDraft, RegistrySet } from "./registry-set.ts";

/** Where remote agents are found while the program runs. */
export interface RemoteAgentSource {
  /** What stands before the slash in the ids of its agents. */
  readonly id: string;
  /** All that it has now. Rejects when it cannot be read: then what was found before stays. */
  discover(signal: AbortSignal): Promise<readonly FoundAgent[]>;
}

/** An agent as its source knows it. */
export type FoundAgent = RemoteAgentSpecInput & {
  /** Its name at the source, without the name of that. */
  readonly id: string;
};

const failed = (source: string, cause: unknown): AwakenError =>
  new AwakenError("resolve_failed", `resolve failed: remote agent discovery failed: ${source}: ${errorMessage(cause)}`, {
    cause,
    details: { source },
  });

async function ask({ id, discover }: RemoteAgentSource, signal: AbortSignal) {
  try {
    return await discover(signal);
  } catch (cause) {
    throw failed(id, cause);
  }
}

/** What it needs of a handle, which itself stands above this. */
interface Published {
  snapshot(): { readonly registries: RegistrySet };
  update(edit: (draft: RegistryDraft) => void): unknown;
}

/** Asks all sources, and publishes what they have in the place of what they had, in one step. One that fails changes nothing. */
export async function discoverAgents(handle: Published, sources: readonly RemoteAgentSource[], signal: AbortSignal): Promise<void> {
  const found = await Promise.all(sources.map(async (source) => ({ source, specs: await ask(source, signal) })));
  const names = new Set(sources.map(({ id }) => id));
  const isOfSource = (agent: { readonly type: string; readonly registry?: string }): boolean =>
    agent.type === "remote" && agent.registry !== undefined && names.has(agent.registry);
  handle.update(({ agents }) => {
    for (const agent of handle.snapshot().registries.agents.values()) if (isOfSource(agent)) Reflect.deleteProperty(agents, agent.id);
    for (const { source, specs } of found) {
      for (const spec of specs) {
        const id = `${source.id}/${spec.id}`;
        agents[id] = { ...spec, id, registry: source.id };
      }
    }
  });
}
