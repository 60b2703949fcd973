import { AwakenError } from "@awaken/contract";
import { perTable, type RegistryDraft, type RegistrySet, type TableName } from "./registry-set.ts";

/** What an edit asks for, by table and id; undefined: that it goes. Nothing of it is read yet. */
export type Changes = { readonly [Name in TableName]: ReadonlyMap<string, { readonly input: unknown } | undefined> };

export interface OpenDraft {
  /** What the changes are made for. */
  readonly seen: RegistrySet;
  readonly draft: RegistryDraft;
  readonly changes: Changes;
  /** Ends the edit: whoever kept the draft can no longer write to it. */
  close(): void;
}

/** A record that reads through to the table and keeps what is written apart, so that a draft of a large table costs nothing. */
function openRecord<Input>(
  table: ReadonlyMap<string, Input>,
  changes: Map<string, { readonly input: unknown } | undefined>,
  checkOpen: () => void,
): { [id: string]: Input } {
  const has = (id: string | symbol): id is string =>
    typeof id === "string" && (changes.has(id) ? changes.get(id) : table.get(id)) !== undefined;
  const get = (id: string): unknown => (changes.has(id) ? changes.get(id)?.input : table.get(id));
  const put = (id: string | symbol, input: unknown): boolean => {
    checkOpen();
    if (typeof id === "symbol") return false;
    // What is there already is no change, and takes an earlier one back.
    if (table.has(id) && input === table.get(id)) changes.delete(id);
    else changes.set(id, { input });
    return true;
  };
  return new Proxy<{ [id: string]: Input }>(
    {},
    {
      get: (_target, id) => (typeof id === "symbol" ? undefined : get(id)),
      has: (_target, id) => has(id),
      set: (_target, id, input) => put(id, input),
      defineProperty: (_target, id, descriptor) => "value" in descriptor && put(id, descriptor.value),
      deleteProperty(_target, id) {
        checkOpen();
        if (typeof id === "string") table.has(id) ? changes.set(id, undefined) : changes.delete(id);
        return true;
      },
      ownKeys: () => [...new Set([...table.keys(), ...changes.keys()])].filter(has),
      getOwnPropertyDescriptor: (_target, id) =>
        has(id) ? { value: get(id), enumerable: true, configurable: true, writable: true } : undefined,
      setPrototypeOf: () => false,
      preventExtensions: () => false,
    },
  );
}

export function openDraft(seen: RegistrySet): OpenDraft {
  let isOpen = true;
  const checkOpen = (): void => {
    if (isOpen) return;
    throw new AwakenError("registry_build_failed", "registry build failed: the draft belongs to an update that is over");
  };
  const changes = perTable(() => new Map<string, { readonly input: unknown } | undefined>());
  return {
    seen,
    draft: perTable((name) => openRecord(seen[name], changes[name], checkOpen)),
    changes,
    close() {
      isOpen = false;
    },
  };
}
