import { AwakenError, describeType } from "@awaken/contract";
import type { AgentSpecInput, ModelSpecInput, PoolSpecInput } from "@awaken/contract/spec";
import type { BackendFactory } from "../backend/backend-factory.ts";
import type { Plugin } from "../plugin/define-plugin.ts";
import type { ToolList } from "../tool/foreign-tool.ts";
import { checkModelIds, registryConflict } from "./conflict.ts";
import { Problems } from "./problems.ts";
import type { ProviderInput } from "./provider-entry.ts";
import { READ_ENTRY } from "./read-entry.ts";
import { categoryOf, type Entries, perTable, type RegistrySet, type TableName } from "./registry-set.ts";
import { Table } from "./table.ts";

/** Specs under their ids, or a list of specs that carry their ids, as a file has them. */
export type SpecList<Input> =
  | { readonly [id: string]: Input }
  | readonly (Input & {
      /** The name that it is registered under. */
      readonly id: string;
    })[];

export interface RegistryInit {
  readonly providers?: { readonly [id: string]: ProviderInput };
  readonly models?: SpecList<ModelSpecInput>;
  /** Models that stand in for each other, by the id that agents name. */
  readonly pools?: SpecList<PoolSpecInput>;
  readonly agents?: SpecList<AgentSpecInput>;
  /** A list of ours, or by name with AI SDK tools among them. */
  readonly tools?: ToolList;
  /** What agents may list in `plugins`. */
  readonly plugins?: readonly Plugin[];
  /** Where agents run that do not run here. */
  readonly backends?: readonly BackendFactory[];
}

function ownId(name: TableName, item: unknown, index: number): string {
  const field = name === "backends" ? "type" : "id";
  const id: unknown = typeof item === "object" && item !== null ? Reflect.get(item, field) : undefined;
  if (typeof id === "string") return id;
  const what = typeof item === "object" && item !== null ? `field '${field}' is required in a list` : `got ${describeType(item)}`;
  const kind = categoryOf(name);
  throw new AwakenError("invalid_spec", `${name}[${index}] is no ${kind}: ${what}`, { details: { kind, index } });
}

type Entry = readonly [id: string, input: unknown];

function* listEntries(name: TableName, list: unknown, problems: Problems): Iterable<Entry> {
  if (Array.isArray(list)) {
    for (let index = 0; index < list.length; index++) {
      const item: unknown = list[index];
      const id = problems.attempt(() => ownId(name, item, index));
      if (id !== undefined) yield [id, item];
    }
    return;
  }
  if (typeof list !== "object" || list === null) {
    const message = `registry build failed: '${name}' must be an object or a list, got ${describeType(list)}`;
    problems.add(new AwakenError("registry_build_failed", message, { details: { name } }));
    return;
  }
  for (const id of problems.attempt(() => Object.keys(list)) ?? []) yield [id, problems.attempt((): unknown => Reflect.get(list, id))];
}

/** Entries that were given and could not be read, as `table/id`: whoever refers to one of them has no mistake of his own. */
export type Unread = Set<string>;

/** Reads a whole table. What cannot be read is a problem, and left out. */
function readEntries<Name extends TableName>(name: Name, list: unknown, problems: Problems, unread: Unread): Table<Entries[Name]> {
  const entries = new Map<string, Entries[Name]>();
  for (const [id, input] of listEntries(name, list, problems)) {
    if (entries.has(id)) {
      problems.add(registryConflict(name, id));
      continue;
    }
    const entry = problems.attempt(() => READ_ENTRY[name](id, input));
    if (entry === undefined) unread.add(`${name}/${id}`);
    else entries.set(id, entry);
  }
  return Table.of(entries);
}

/** Looked at before anything is read, so that a file with a doubled model is told just that. */
function checkDuplicateModels(models: unknown = []): void {
  const seen = new Set<string>();
  for (const [id] of listEntries("models", models, new Problems())) {
    if (seen.has(id)) {
      throw new AwakenError("config_validation_failed", `config validation failed: duplicate model id '${id}'`, {
        details: { modelId: id },
      });
    }
    seen.add(id);
  }
}

/** Reads everything that is given, and goes on where something cannot be read. */
export function readRegistry(init: RegistryInit, problems: Problems): { readonly set: RegistrySet; readonly unread: ReadonlySet<string> } {
  checkDuplicateModels(init.models);
  const unread: Unread = new Set();
  const set = perTable((name) => readEntries(name, init[name] === undefined ? [] : init[name], problems, unread));
  problems.attempt(() => checkModelIds(set, set.models, set.pools));
  return { set, unread };
}

/** Registers everything that is given. References between entries are not looked at: `validateRegistry` does that. */
export function createRegistrySet(init: RegistryInit): RegistrySet {
  const problems = new Problems();
  const { set } = readRegistry(init, problems);
  problems.throwAll();
  return set;
}
