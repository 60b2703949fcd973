import { AwakenError, errorMessage, type JsonValue } from "@awaken/contract";
import type { Plugin } from "./define-plugin.ts";
import type { Env } from "./env.ts";
import { EnvTables } from "./env-tables.ts";
import { type ReadTools, readNow } from "./tool-source.ts";

export interface EnvInit {
  /** The agent's plugins, in order. */
  readonly plugins: readonly Plugin[];
  /** The runtime's own, after them. No filter silences these: they hold the step limit. */
  readonly runtimePlugins?: readonly Plugin[];
  readonly sections?: { readonly [key: string]: JsonValue };
  /** Section keys that something other than a plugin reads. */
  readonly knownSections?: readonly string[];
  /** Ids of the plugins that may act; empty or absent means all. */
  readonly filter?: readonly string[];
  /** How sources of tools are read. Default: as they are now. */
  readonly readTools?: ReadTools;
}

function load(plugin: Plugin, init: EnvInit, tables: EnvTables, isActive: boolean): void {
  const sections = init.sections ?? {};
  const section = Object.hasOwn(sections, plugin.section) ? sections[plugin.section] : undefined;
  try {
    plugin.load(section, tables.registrar(plugin.id, isActive));
  } catch (cause) {
    if (AwakenError.is(cause)) throw cause;
    throw new AwakenError("invalid_plugin", `plugin '${plugin.id}' failed to register: ${errorMessage(cause)}`, {
      cause,
      details: { plugin: plugin.id },
    });
  }
}

function unclaimed(init: EnvInit, plugins: readonly Plugin[]): string[] {
  const claimed = new Set([...plugins.filter((plugin) => plugin.hasConfig).map((plugin) => plugin.section), ...(init.knownSections ?? [])]);
  return Object.keys(init.sections ?? {})
    .filter((key) => !claimed.has(key))
    .map((key) => `section '${key}' is claimed by no loaded plugin`);
}

/** Plugins in, one frozen environment out. All or nothing: the first mistake of any plugin throws. */
export function compileEnv(init: EnvInit): Env {
  const tables = new EnvTables(init.readTools ?? readNow);
  const own = init.runtimePlugins ?? [];
  const plugins = [...init.plugins, ...own];
  const filter = new Set(init.filter ?? []);
  const ids = new Set<string>();
  for (const [index, plugin] of plugins.entries()) {
    if (ids.has(plugin.id)) {
      throw new AwakenError("plugin_already_installed", `plugin '${plugin.id}' is listed twice`, { details: { plugin: plugin.id } });
    }
    ids.add(plugin.id);
    const isOwn = index >= init.plugins.length;
    load(plugin, init, tables, isOwn || filter.size === 0 || filter.has(plugin.id));
  }
  for (const table of [tables.hooks, tables.arounds]) for (const list of Object.values(table)) Object.freeze(list);
  return Object.freeze({
    plugins: Object.freeze(plugins),
    isOwn: init.plugins.length === 0,
    activating: Object.freeze(plugins.filter(({ onActivate }) => onActivate !== undefined)),
    binding: Object.freeze(plugins.filter(({ onBind }) => onBind !== undefined)),
    hooks: Object.freeze(tables.hooks),
    actions: new Map(tables.actions),
    effects: new Map(tables.effects),
    stateKeys: Object.freeze([...tables.stateKeys.values()]),
    profileKeys: new Map(tables.profileKeys),
    gates: Object.freeze(tables.gates),
    tools: new Map(tables.tools),
    lateTools: new Map(tables.lateTools),
    sources: Object.freeze(tables.sources),
    arounds: Object.freeze(tables.arounds),
    transforms: Object.freeze(tables.transforms),
    warnings: Object.freeze([...unclaimed(init, plugins), ...tables.warnings]),
  });
}
