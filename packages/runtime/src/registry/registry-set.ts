import { AwakenError, reading } from "@awaken/contract";
import type { AgentSpec, AgentSpecInput, ModelSpec, ModelSpecInput, PoolSpec, PoolSpecInput } from "@awaken/contract/spec";
import type { BackendFactory } from "../backend/backend-factory.ts";
import type { Plugin } from "../plugin/define-plugin.ts";
import type { ForeignTool } from "../tool/foreign-tool.ts";
import type { Tool } from "../tool/tool.ts";
import type { ProviderEntry, ProviderInput } from "./provider-entry.ts";
import { Table } from "./table.ts";

/** What is looked up, by table. */
export interface Entries {
  readonly providers: ProviderEntry;
  readonly models: ModelSpec;
  readonly pools: PoolSpec;
  readonly tools: Tool;
  readonly plugins: Plugin;
  readonly backends: BackendFactory;
  readonly agents: AgentSpec;
}

export type TableName = keyof Entries;

/** What may be written for an entry. Every entry is a valid input for itself. */
export interface EntryInputs {
  readonly providers: ProviderInput;
  readonly models: ModelSpecInput;
  readonly pools: PoolSpecInput;
  readonly tools: Tool | ForeignTool;
  readonly plugins: Plugin;
  readonly backends: BackendFactory;
  readonly agents: AgentSpecInput;
}

/** All registries at one moment. Never changes: an edit makes another set that shares the tables it leaves alone. */
export type RegistrySet = { readonly [Name in TableName]: Table<Entries[Name]> };

/** The registries as plain records: assign an entry to add or replace it, delete it to remove it. Entries themselves cannot be changed. */
export type RegistryDraft = { readonly [Name in TableName]: { [id: string]: EntryInputs[Name] } };

const LOCAL = "local/";

/** How agents are found, here and at resolution: `source/id`, `local/id`, or a plain id, for which one that is registered wins over one that a source has. */
export function findAgent({ agents }: RegistrySet, id: string): AgentSpec | undefined {
  const own = agents.get(id) ?? (id.startsWith(LOCAL) ? agents.get(id.slice(LOCAL.length)) : undefined);
  if (own !== undefined || id.includes("/")) return own;
  for (const agent of agents.values())
    if (agent.type === "remote" && agent.registry !== undefined && agent.id === `${agent.registry}/${id}`) return agent;
  return undefined;
}

/** The order in which they are made: agents last. */
const TABLE_NAMES: readonly TableName[] = ["providers", "models", "pools", "tools", "plugins", "backends", "agents"];

/** What one entry of a table is called in messages: `model` of `models`. */
export const categoryOf = (name: TableName): string => name.slice(0, -1);

/** One of something for each table. */
export function perTable(make: <Name extends TableName>(name: Name) => Table<Entries[Name]>): RegistrySet;
export function perTable(make: <Name extends TableName>(name: Name) => { [id: string]: EntryInputs[Name] }): RegistryDraft;
export function perTable<T>(make: (name: TableName) => T): { readonly [Name in TableName]: T };
export function perTable(make: (name: TableName) => unknown) {
  return Object.freeze(Object.fromEntries(TABLE_NAMES.map((name) => [name, make(name)])));
}

/** Throws unless it has all tables: a set that is made by hand may lack one. */
export function checkSet(set: unknown): void {
  const isWhole = reading(
    "registry_build_failed",
    "registry build failed: the set",
    () => typeof set === "object" && set !== null && TABLE_NAMES.every((name) => Reflect.get(set, name) instanceof Table),
  );
  if (isWhole) return;
  throw new AwakenError(
    "registry_build_failed",
    "registry build failed: a registry set must have all tables: make it with createRegistrySet",
  );
}
