import {
  AwakenError,
  errorMessage,
  type JsonValue,
  type Log,
  type PersistedState,
  STATE_SCHEMA_VERSION,
  type StateScope,
  toJson,
  validateSync,
} from "@awaken/contract";
import type { AnyStateKey, Rescued } from "./key.ts";
import { seal } from "./seal.ts";
import type { SlotTable } from "./snapshot.ts";

/** What to do with a stored key that nobody registered. */
export type UnknownKeys = "error" | "skip";

/** Those of one scope, those that may leave the process, all, or those that a run which is over still has. */
export type ExportScope = StateScope | "full" | "shared" | "over";

function isIn(key: AnyStateKey, scope: ExportScope): boolean {
  if (scope === "shared") return key.shared;
  // What the runtime keeps of a run, its record says when it is over.
  if (scope === "over") return key.scope === "run" && !key.trusted;
  return scope === "full" || key.scope === scope;
}

/** Most runs that are over have none. */
const NO_EXTENSIONS: PersistedState["extensions"] = Object.freeze({});

/** Values are frozen and were checked when they were committed, so they are handed out as they are. */
export function encodeState(
  revision: number,
  keys: readonly AnyStateKey[],
  values: readonly unknown[],
  scope: ExportScope,
): PersistedState {
  let extensions: Record<string, JsonValue> | undefined;
  let versions: Record<string, number> | undefined;
  for (let slot = 0; slot < keys.length; slot++) {
    const key = keys[slot];
    const value = values[slot];
    if (key === undefined || value === undefined || !key.persistent || !isIn(key, scope)) continue;
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

const undecodable = (key: AnyStateKey, message: string, cause?: unknown, advice = ""): AwakenError =>
  new AwakenError("key_decode", `state key '${key.name}': ${message}${advice}`, { cause, details: { key: key.name, message } });

/** What is stored, as today's key has it, or why it is not. */
type Decoded =
  | { readonly type: "value"; readonly value: unknown }
  | { readonly type: "invalid"; readonly why: string; readonly cause?: unknown };

/** Checked and sealed. */
function accepted(key: AnyStateKey, given: unknown): Decoded {
  const result = validateSync(key.schema, given);
  if (result.type === "invalid") return { type: "invalid", why: result.message };
  if (result.value === undefined) return { type: "invalid", why: "the schema gave undefined" };
  try {
    // A key of ours holds values of others with a few levels around them; that these are JSON was seen when they came.
    seal(key.name, result.value, undefined, key.persistent && !key.trusted);
    return { type: "value", value: result.value };
  } catch (cause) {
    return { type: "invalid", why: `the schema gave what cannot be stored again: ${errorMessage(cause)}`, cause };
  }
}

function migrated(key: AnyStateKey, stored: JsonValue, version: number): Decoded {
  let value = stored;
  for (const migrate of key.migrations.slice(version - 1)) {
    try {
      value = migrate(value);
    } catch (cause) {
      return { type: "invalid", why: `a migration threw: ${errorMessage(cause)}`, cause };
    }
  }
  return accepted(key, value);
}

/** A program that is older than the value, or a version that never was: no choice of the key is about these. */
function versionProblem(key: AnyStateKey, version: number): string | undefined {
  if (!Number.isInteger(version) || version < 1) return `stored with the impossible version ${version}`;
  return version > key.version ? `stored by version ${version}, but this program knows up to ${key.version}` : undefined;
}

const WAY_OUT = ". The stored value is left as it is: give the key a migration, or say with `onInvalid` what becomes of it";

function rescued(key: AnyStateKey, stored: JsonValue, { why, cause }: Extract<Decoded, { type: "invalid" }>, log: Log): unknown {
  let choice: Rescued<unknown>;
  try {
    choice = key.onInvalid(stored, why);
  } catch (thrown) {
    throw undecodable(key, `onInvalid threw: ${errorMessage(thrown)}`, thrown);
  }
  if (choice.type === "fail") throw undecodable(key, why, cause, WAY_OUT);
  if (choice.type === "drop") {
    log.warn(`state key '${key.name}': the stored value does not fit its schema and was dropped: ${why}`, { key: key.name });
    return undefined;
  }
  const again = accepted(key, choice.value);
  if (again.type === "invalid") throw undecodable(key, `what onInvalid gave does not fit the schema: ${again.why}`, again.cause);
  return again.value;
}

/**
 * Who reads the stored values: the run of an agent, for which each key decides what becomes of one that does not fit; a caller who gave
 * them himself; or somebody who only ends a run and must not be kept from it.
 */
export type Reading = "as-key-says" | "strict" | "lenient";

/** A stored value as its key has it today: migrated, checked and sealed. Undefined when it is dropped. */
export function decodeValue(key: AnyStateKey, stored: JsonValue, version: number, log: Log, reading: Reading = "as-key-says"): unknown {
  const wrongVersion = versionProblem(key, version);
  const decoded: Decoded = wrongVersion === undefined ? migrated(key, stored, version) : { type: "invalid", why: wrongVersion };
  if (decoded.type === "value") return decoded.value;
  if (reading === "lenient") {
    log.warn(`state key '${key.name}' could not be read: ${decoded.why}`, { key: key.name });
    return undefined;
  }
  if (reading === "strict" || wrongVersion !== undefined) throw undecodable(key, decoded.why, decoded.cause);
  return rescued(key, stored, decoded, log);
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

export interface DecodeInit {
  readonly table: SlotTable;
  readonly unknown: UnknownKeys;
  readonly scope: "thread" | "full";
  readonly log: Log;
  readonly reading?: Reading;
}

/** Writes the stored keys of a scope into `values` and returns it; on any error the store that asked keeps what it had. */
export function decodeState(state: PersistedState, { table, unknown, scope, log, reading }: DecodeInit, values: unknown[]): unknown[] {
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
    values[slot] = decodeValue(key, stored, (Object.hasOwn(versions, name) ? versions[name] : undefined) ?? 1, log, reading);
  }
  return values;
}
