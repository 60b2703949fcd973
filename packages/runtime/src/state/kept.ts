import type { JsonValue, PersistedState, StateScope } from "@awaken/contract";
import type { SlotTable } from "./snapshot.ts";
import { versionOf } from "./stored-value.ts";

interface KeptValue {
  readonly scope: StateScope;
  readonly value: JsonValue;
  readonly version: number;
}

/**
 * Stored keys that no plugin of this run has registered. They are not read, and they go back as they came: an agent without a plugin
 * must not erase what the plugin keeps in the thread.
 */
export class KeptKeys {
  readonly #values = new Map<string, KeptValue>();

  /** Replaces what was kept of this scope. */
  keep(scope: StateScope, state: PersistedState, table: SlotTable): void {
    for (const [name, { scope: own }] of this.#values) if (own === scope) this.#values.delete(name);
    for (const [name, value] of Object.entries(state.extensions)) {
      if (!table.slots.has(name)) this.#values.set(name, { scope, value, version: versionOf(state, name) });
    }
  }

  /** Somebody registered the key after all. */
  take(name: string): KeptValue | undefined {
    const kept = this.#values.get(name);
    if (kept !== undefined) this.#values.delete(name);
    return kept;
  }

  /** The state with what was kept for its scope. */
  into(state: PersistedState, scope: StateScope | "full"): PersistedState {
    if (this.#values.size === 0) return state;
    const extensions = { ...state.extensions };
    const versions: Record<string, number> = { ...state.versions };
    for (const [name, kept] of this.#values) {
      if (scope !== "full" && kept.scope !== scope) continue;
      extensions[name] = kept.value;
      if (kept.version > 1) versions[name] = kept.version;
    }
    return { ...state, extensions, ...(Object.keys(versions).length === 0 ? {} : { versions }) };
  }
}
