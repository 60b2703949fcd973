import type { PluginsToOpen } from "../plugin/plugins-to-open.ts";
import type { RegistryHandle } from "../registry/registry-handle.ts";
import type { RemoteAgentSource } from "../registry/remote-agents.ts";
import { seldom } from "../registry/seldom-door.ts";
import { checkLateIds } from "../resolve/late-ids.ts";
import type { LiveResolver } from "../resolve/resolver.ts";
import type { Work } from "../stream/bounds.ts";
import { checkOpen } from "../stream/closed.ts";
import type { RunParts } from "./run-parts.ts";

/** The registries, and who reads them. */
export interface OpenRegistry {
  readonly registry: RegistryHandle;
  readonly resolver: LiveResolver;
  readonly plugins: PluginsToOpen;
}

const INITIALIZING: Work = { limit: "initializeMs", onAbort: "leave", name: () => "a plugin that the runtime initializes" };

const DISCOVERING: Work = { limit: "initializeMs", onAbort: "leave", name: () => "a source of remote agents" };

/** Until everything is open, nothing is said to be missing. */
export async function initialize(
  { bounds, closing }: Pick<RunParts, "bounds" | "closing">,
  { registry, resolver, plugins }: OpenRegistry,
  remoteAgents: readonly RemoteAgentSource[],
): Promise<void> {
  checkOpen(closing);
  const opening = plugins.open(registry.snapshot().registries.plugins.values());
  if (opening !== undefined) await bounds.wait(opening, INITIALIZING);
  if (remoteAgents.length > 0) {
    const { discoverAgents } = await seldom.open();
    await bounds.wait(discoverAgents(registry, remoteAgents, closing), DISCOVERING);
  }
  resolver.readAll(checkLateIds);
}
