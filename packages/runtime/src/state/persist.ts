import { AwakenError, freezeJson, type JsonValue, type Log, type PersistedState, STATE_SCHEMA_VERSION, toJson } from "@awaken/contract";
import type { Reading } from "./decode-value.ts";
import type { AnyStateKey } from "./key.ts";
import type { LateState } from "./late-schema.ts";
import type { ExportScope, SlotTable } from "./snapshot.ts";
import { isOfToday, versionOf } from "./stored-value.ts";

/** What to do with a stored key that nobody registered. */
export type UnknownKeys = "error" | "skip";

/** Most runs that are over have none. */
const NO_EXTENSIONS: PersistedState["extensions"] = Object.freeze({});

/** Values are frozen and were checked when they were committed, so they are handed out as they are. */
export function encodeState(revision: number, { keys, scopes }: SlotTable, values: readonly unknown[], scope: ExportScope): PersistedState {
  let extensions: Record<string, JsonValue> | undefined;
  let versions: Record<string, number> | undefined;
  for (const slot of scopes[scope]) {
    const key = keys[slot];
    const value = values[slot];
    if (key === undefined || value === undefined) continue;
    extensions ??= {};
    extensions[key.name] = value as JsonValue;
    if (key.version > 1) {
      versions ??= {};
      versions[key.name] = key.version;
    }
  }
  const state = { schemaVersion: STATE_SCHEMA_VERSION, revision, extensions: extensions ?? NO_EXTENSIONS } as const;
  return versions === undefined ? state : { ...state, versions };
}

/** How a stored value is read. */
interface Decoding {
  /** What few values need. */
  readonly late: () => LateState;
  readonly log: Log;
  readonly reading?: Reading;
}

/** As its key has it today. Undefined when it is dropped. */
export function decoded(key: AnyStateKey, stored: JsonValue, version: number, { late, log, reading }: Decoding): unknown {
  if (!isOfToday(key, stored, version)) return late().decodeValue(key, stored, version, log, reading);
  freezeJson(stored);
  return stored;
}

function checkSchemaVersion(found: unknown): void {
  if (found === STATE_SCHEMA_VERSION) return;
  const isNewer = typeof found === "number" && found > STATE_SCHEMA_VERSION;
  throw new AwakenError(
    isNewer ? "storage_too_new" : "storage_corrupt",
    `state has schema version ${String(found)}, this program knows up to ${STATE_SCHEMA_VERSION}`,
    { details: { found: toJson(found), known: STATE_SCHEMA_VERSION } },
  );
}

export interface DecodeInit extends Decoding {
  readonly table: SlotTable;
  readonly unknown: UnknownKeys;
  readonly scope: "thread" | "full";
}

/** Writes the stored keys of a scope into `values` and returns it; on any error the store that asked keeps what it had. */
export function decodeState(state: PersistedState, init: DecodeInit, values: unknown[]): unknown[] {
  const { table, unknown, scope } = init;
  checkSchemaVersion(state.schemaVersion);
  for (const [name, stored] of Object.entries(state.extensions)) {
    const slot = table.slots.get(name);
    const key = slot === undefined ? undefined : table.keys[slot];
    if (slot === undefined || key === undefined) {
      if (unknown === "skip") continue;
      throw new AwakenError("unknown_key", `stored state key '${name}' is not registered`, { details: { key: name } });
    }
    if (scope === "thread" && key.scope !== "thread") continue;
    values[slot] = decoded(key, stored, versionOf(state, name), init);
  }
  return values;
}
