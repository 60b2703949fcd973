import { type AgentSpecInput, AwakenError, type ModelSpecInput, type PoolSpecInput } from "@awaken/contract";
import type { Plugin } from "../plugin/define-plugin.ts";
import type { Tool } from "../tool/tool.ts";
import { checkModelIds, registryConflict } from "./conflict.ts";
import type { ProviderInput } from "./provider-entry.ts";
import { CATEGORY, READ_ENTRY } from "./read-entry.ts";
import type { BackendFactory, Entries, RegistrySet, TableName } from "./registry-set.ts";
import { Table } from "./table.ts";

/** Specs under their ids, or a list of specs that carry their ids, as a file has them. */
export type SpecList<Input> = { readonly [id: string]: Input } | readonly (Input & { readonly id: string })[];

export interface RegistryInit {
  readonly providers?: { readonly [id: string]: ProviderInput };
  readonly models?: SpecList<ModelSpecInput>;
  readonly pools?: SpecList<PoolSpecInput>;
  readonly agents?: SpecList<AgentSpecInput>;
  readonly tools?: readonly Tool[];
  readonly plugins?: readonly Plugin[];
  readonly backends?: readonly BackendFactory[];
}

function ownId(name: TableName, item: unknown): string {
  const field = name === "backends" ? "type" : "id";
  const id: unknown = typeof item === "object" && item !== null ? Reflect.get(item, field) : undefined;
  if (typeof id === "string") return id;
  throw new AwakenError("invalid_spec", `invalid ${CATEGORY[name]} spec: field '${field}' is required in a list: expected a string`, {
    details: { kind: CATEGORY[name] },
  });
}

function listEntries(name: TableName, list: unknown): readonly (readonly [string, unknown])[] {
  if (Array.isArray(list)) return Array.from(list, (item: unknown) => [ownId(name, item), item]);
  if (typeof list === "object" && list !== null) return Object.entries(list);
  throw new AwakenError("registry_build_failed", `registry build failed: '${name}' must be an object or a list`, { details: { name } });
}

/** Reads a whole table. The first id that comes twice is named. */
export function readTable<Name extends TableName>(name: Name, list: unknown = []): Table<Entries[Name]> {
  const entries = new Map<string, Entries[Name]>();
  for (const [id, input] of listEntries(name, list)) {
    if (entries.has(id)) throw registryConflict(name, id);
    entries.set(id, READ_ENTRY[name](id, input));
  }
  return Table.of(entries);
}

/** Looked at before anything is read, so that a file with a doubled model is told just that. */
export function checkDuplicateModels(models: RegistryInit["models"] = []): void {
  const seen = new Set<string>();
  for (const [id] of listEntries("models", models)) {
    if (seen.has(id)) {
      throw new AwakenError("config_validation_failed", `config validation failed: duplicate model id '${id}'`, {
        details: { modelId: id },
      });
    }
    seen.add(id);
  }
}

/** Registers everything that is given. References between entries are not looked at: `validateRegistry` does that. */
export function createRegistrySet(init: RegistryInit): RegistrySet {
  checkDuplicateModels(init.models);
  const set = Object.freeze({
    providers: readTable("providers", init.providers),
    models: readTable("models", init.models),
    pools: readTable("pools", init.pools),
    tools: readTable("tools", init.tools),
    plugins: readTable("plugins", init.plugins),
    backends: readTable("backends", init.backends),
    agents: readTable("agents", init.agents),
  });
  checkModelIds(set, set.models, set.pools);
  return set;
}
