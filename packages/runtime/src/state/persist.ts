import {
  AwakenError,
  errorMessage,
  type JsonValue,
  type PersistedState,
  STATE_SCHEMA_VERSION,
  type StateScope,
  toJson,
  validateSync,
} from "@awaken/contract";
import type { AnyStateKey } from "./key.ts";
import { seal } from "./seal.ts";
import type { SlotTable } from "./snapshot.ts";

/** What to do with a stored key that nobody registered. */
export type UnknownKeys = "error" | "skip";

/** Values are frozen and were checked when they were committed, so they are handed out as they are. */
export function encodeState(
  revision: number,
  keys: readonly AnyStateKey[],
  values: readonly unknown[],
  scope: StateScope | "full",
): PersistedState {
  const extensions: Record<string, JsonValue> = {};
  let versions: Record<string, number> | undefined;
  for (let slot = 0; slot < keys.length; slot++) {
    const key = keys[slot];
    const value = values[slot];
    if (key === undefined || value === undefined || !key.persistent || (scope !== "full" && key.scope !== scope)) continue;
    extensions[key.name] = value as JsonValue;
    if (key.version > 1) {
      versions ??= {};
      versions[key.name] = key.version;
    }
  }
  return { schemaVersion: STATE_SCHEMA_VERSION, revision, extensions, ...(versions === undefined ? undefined : { versions }) };
}

function refuse(key: string, message: string, cause?: unknown): never {
  throw new AwakenError("key_decode", `state key '${key}': ${message}`, { cause, details: { key, message } });
}

function migrated(key: AnyStateKey, stored: JsonValue, version: number): JsonValue {
  if (!Number.isInteger(version) || version < 1) refuse(key.name, `stored with the impossible version ${version}`);
  if (version > key.version) refuse(key.name, `stored by version ${version}, but this program knows up to ${key.version}`);
  let value = stored;
  for (const migrate of key.migrations.slice(version - 1)) {
    try {
      value = migrate(value);
    } catch (cause) {
      refuse(key.name, `a migration threw: ${errorMessage(cause)}`, cause);
    }
  }
  return value;
}

/** A stored value as its key has it today: migrated, checked and sealed. */
export function decodeValue(key: AnyStateKey, stored: JsonValue, version: number): unknown {
  const result = validateSync(key.schema, migrated(key, stored, version));
  if (result.type === "invalid") refuse(key.name, result.message);
  if (result.value === undefined) refuse(key.name, "the schema gave undefined");
  try {
    seal(key.name, result.value, undefined, key.persistent);
  } catch (cause) {
    refuse(key.name, `the schema gave what cannot be stored again: ${errorMessage(cause)}`, cause);
  }
  return result.value;
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

/** Writes the stored keys of a scope into `values` and returns it; on any error the store that asked keeps what it had. */
export function decodeState(
  state: PersistedState,
  table: SlotTable,
  unknown: UnknownKeys,
  scope: "thread" | "full",
  values: unknown[],
): unknown[] {
  checkSchemaVersion(state.schemaVersion);
  for (const [name, stored] of Object.entries(state.extensions)) {
    const slot = table.slots.get(name);
    const key = slot === undefined ? undefined : table.keys[slot];
    if (slot === undefined || key === undefined) {
      if (unknown === "skip") continue;
      throw new AwakenError("unknown_key", `stored state key '${name}' is not registered`, { details: { key: name } });
    }
    if (scope === "thread" && key.scope !== "thread") continue;
    const { versions = {} } = state;
    values[slot] = decodeValue(key, stored, (Object.hasOwn(versions, name) ? versions[name] : undefined) ?? 1);
  }
  return values;
}
