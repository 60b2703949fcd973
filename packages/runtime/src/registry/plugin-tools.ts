import type { LocalAgentSpec } from "@awaken/contract/spec";
import { EnvTables } from "../plugin/env-tables.ts";
import type { RegistrySet } from "./registry-set.ts";

export interface BroughtTools {
  readonly ids: ReadonlySet<string>;
  /** Whether a source may have it one day. */
  isLate(id: string): boolean;
}

/** The ids of the tools that the agent's plugins bring, as far as they can be loaded: what is wrong with the others is told elsewhere. */
export function pluginTools(set: RegistrySet, { plugins, sections }: LocalAgentSpec): BroughtTools {
  const tables = new EnvTables();
  for (const id of plugins) {
    const plugin = set.plugins.get(id);
    if (plugin === undefined) continue;
    const section = Object.hasOwn(sections, plugin.section) ? sections[plugin.section] : undefined;
    try {
      plugin.load(section, tables.registrar(id, true));
    } catch {
      // Told when the agent is resolved.
    }
  }
  const { sources } = tables;
  return {
    ids: new Set([...tables.tools.keys(), ...tables.lateTools.keys()]),
    isLate: (id) => sources.some(({ source }) => id.startsWith(source.prefix)),
  };
}
