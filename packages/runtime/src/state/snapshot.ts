import type { StateScope } from "@awaken/contract";
import type { AnyStateKey, StateKey } from "./key.ts";

/** Those of one scope, those that may leave the process, all, or those that a run which is over still has. */
export type ExportScope = StateScope | "full" | "shared" | "over";

/** Which key sits in which slot. Replaced as a whole when keys come or go, so a snapshot's own table never changes. */
export interface SlotTable {
  readonly keys: readonly AnyStateKey[];
  readonly slots: ReadonlyMap<string, number>;
  /** The slots of the persistent keys of each scope: each commit asks for those of some. */
  readonly scopes: { readonly [Scope in ExportScope]: readonly number[] };
}

/** One slot per name; of two keys with one name the first. */
export function slotTable(given: Iterable<AnyStateKey>): SlotTable {
  const byName = new Map<string, AnyStateKey>();
  for (const key of given) if (!byName.has(key.name)) byName.set(key.name, key);
  const keys = [...byName.values()];
  const slotsOf = (isIn: (key: AnyStateKey) => boolean) => keys.flatMap((key, slot) => (key.persistent && isIn(key) ? [slot] : []));
  return {
    keys,
    slots: new Map(keys.map((key, slot) => [key.name, slot])),
    scopes: {
      full: slotsOf(() => true),
      run: slotsOf(({ scope }) => scope === "run"),
      thread: slotsOf(({ scope }) => scope === "thread"),
      shared: slotsOf(({ shared }) => shared),
      // What the runtime keeps of a run, its record says when it is over.
      over: slotsOf(({ scope, trusted }) => scope === "run" && !trusted),
    },
  };
}

/** What hooks, gates and tools may know of the state: its values at one revision, for ever. */
export interface StateReader {
  /** Rises with every commit; `command().from(revision)` insists on it. */
  readonly revision: number;
  /** Undefined when the key was never updated. */
  get<V, U>(key: StateKey<V, U>): V | undefined;
}

export class Snapshot implements StateReader {
  readonly revision: number;
  readonly #table: SlotTable;
  readonly #values: readonly unknown[];

  constructor(revision: number, table: SlotTable, values: readonly unknown[]) {
    this.revision = revision;
    this.#table = table;
    this.#values = values;
  }

  get<V, U>(key: StateKey<V, U>): V | undefined {
    const slot = this.#table.slots.get(key.name);
    // A slot is only ever written with what its key's `apply` or `schema` gave.
    return slot === undefined ? undefined : (this.#values[slot] as V | undefined);
  }
}
