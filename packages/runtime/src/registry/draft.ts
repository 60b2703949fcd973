import { AwakenError } from "@awaken/contract";
import type { EntryInputs, RegistrySet, TableName } from "./registry-set.ts";

export type Change = { readonly type: "put"; readonly input: unknown } | { readonly type: "remove" };

/** What an edit asks for, by table and id. Nothing of it is read yet. */
export type Changes = { readonly [Name in TableName]: ReadonlyMap<string, Change> };

/** The registries as plain records: assign an entry to add or replace it, delete it to remove it. Entries themselves cannot be changed. */
export type RegistryDraft = { readonly [Name in TableName]: { [id: string]: EntryInputs[Name] } };

export interface OpenDraft {
  readonly draft: RegistryDraft;
  readonly changes: Changes;
  /** Ends the edit: whoever kept the draft can no longer write to it. */
  close(): void;
}

/** A record that reads through to the table and keeps what is written apart, so that a draft of a large table costs nothing. */
function openRecord<Input>(table: ReadonlyMap<string, Input>, changes: Map<string, Change>, checkOpen: () => void) {
  const has = (id: string): boolean => (changes.has(id) ? changes.get(id)?.type === "put" : table.has(id));
  const get = (id: string): unknown => {
    const change = changes.get(id);
    if (change === undefined) return table.get(id);
    return change.type === "put" ? change.input : undefined;
  };
  const put = (id: string | symbol, input: unknown): boolean => {
    checkOpen();
    if (typeof id === "symbol") return false;
    // What is there already is no change, and takes an earlier one back.
    if (table.has(id) && input === table.get(id)) changes.delete(id);
    else changes.set(id, { type: "put", input });
    return true;
  };
  const ids = (): string[] => {
    const added = [...changes.keys()].filter((id) => !table.has(id));
    return [...table.keys(), ...added].filter(has);
  };
  return new Proxy<{ [id: string]: Input }>(
    {},
    {
      get: (_target, id) => (typeof id === "symbol" ? undefined : get(id)),
      has: (_target, id) => typeof id === "string" && has(id),
      set: (_target, id, input) => put(id, input),
      defineProperty: (_target, id, descriptor) => "value" in descriptor && put(id, descriptor.value),
      deleteProperty(_target, id) {
        checkOpen();
        if (typeof id === "string") table.has(id) ? changes.set(id, { type: "remove" }) : changes.delete(id);
        return true;
      },
      ownKeys: ids,
      getOwnPropertyDescriptor(_target, id) {
        if (typeof id === "symbol" || !has(id)) return undefined;
        return { value: get(id), enumerable: true, configurable: true, writable: true };
      },
      setPrototypeOf: () => false,
      preventExtensions: () => false,
    },
  );
}

export function openDraft(set: RegistrySet): OpenDraft {
  let isOpen = true;
  const checkOpen = (): void => {
    if (isOpen) return;
    throw new AwakenError("registry_build_failed", "registry build failed: the draft belongs to an update that is over");
  };
  const newChanges = () => new Map<string, Change>();
  const changes = {
    providers: newChanges(),
    models: newChanges(),
    pools: newChanges(),
    tools: newChanges(),
    plugins: newChanges(),
    backends: newChanges(),
    agents: newChanges(),
  };
  const draft: RegistryDraft = Object.freeze({
    providers: openRecord<EntryInputs["providers"]>(set.providers, changes.providers, checkOpen),
    models: openRecord<EntryInputs["models"]>(set.models, changes.models, checkOpen),
    pools: openRecord<EntryInputs["pools"]>(set.pools, changes.pools, checkOpen),
    tools: openRecord<EntryInputs["tools"]>(set.tools, changes.tools, checkOpen),
    plugins: openRecord<EntryInputs["plugins"]>(set.plugins, changes.plugins, checkOpen),
    backends: openRecord<EntryInputs["backends"]>(set.backends, changes.backends, checkOpen),
    agents: openRecord<EntryInputs["agents"]>(set.agents, changes.agents, checkOpen),
  });
  return {
    draft,
    changes,
    close() {
      isOpen = false;
    },
  };
}
