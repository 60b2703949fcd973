import { AwakenError, errorMessage } from "../error.ts";
import { isJson, isJsonObject, type JsonObject } from "../json.ts";
import { type ConfigRecord, decodeConfigRecord, encodeConfigRecord } from "../spec/envelope.ts";
import type { Page } from "./page.ts";

export interface ConfigKey {
  /** One of `CONFIG_NAMESPACES`, or a namespace that no config route reaches, such as `_audit`. */
  readonly namespace: string;
  readonly id: string;
}

/** The spec is checked by whoever owns the namespace; a store takes any object. */
export interface ConfigEntry extends ConfigKey {
  readonly record: ConfigRecord<JsonObject>;
}

/** A record that does not exist counts as revision 0, so 0 means "only a new one". Without a guard the last writer wins. */
export interface ConfigGuard {
  readonly expectedRevision?: number;
}

/** `version_conflict` with expected and actual, apart from every error of the engine. */
export function checkConfigRevision(before: ConfigRecord<JsonObject> | undefined, key: ConfigKey, guard: ConfigGuard): void {
  const { expectedRevision: expected } = guard;
  const actual = before?.meta.revision ?? 0;
  if (expected === undefined || expected === actual) return;
  throw new AwakenError("version_conflict", `${key.namespace} '${key.id}' is at revision ${actual}, not ${expected}`, {
    details: { ...key, expected, actual },
  });
}

/** What is written over `before`: the store alone counts revisions and keeps the times. */
export function stampConfigRecord(
  before: ConfigRecord<JsonObject> | undefined,
  record: ConfigRecord<JsonObject>,
  now: number,
): ConfigRecord<JsonObject> {
  const meta = {
    ...record.meta,
    createdAt: before?.meta.createdAt ?? now,
    updatedAt: now,
    revision: (before?.meta.revision ?? 0) + 1,
  };
  return { ...record, meta };
}

/** The row of a record; `storage_validation` when it cannot be stored. */
export function toConfigRow({ namespace, id, record }: ConfigEntry): JsonObject {
  const row = encodeConfigRecord(record, (spec) => spec);
  if (namespace.trim() !== "" && id.trim() !== "" && isJson(row)) return row;
  throw new AwakenError("storage_validation", `config record '${namespace}/${id}' cannot be stored: blank key, or not JSON`);
}

function toSpec(spec: unknown): JsonObject {
  if (isJsonObject(spec)) return spec;
  throw new AwakenError("invalid_spec", "a spec must be an object");
}

/** `storage_too_new`, or `storage_corrupt` with the key of the row. */
export function readConfigRow(row: unknown, { namespace, id }: ConfigKey): ConfigEntry {
  try {
    return { namespace, id, record: decodeConfigRecord(row, toSpec) };
  } catch (cause) {
    if (AwakenError.is(cause) && cause.code === "storage_too_new") throw cause;
    const message = `config record '${namespace}/${id}' cannot be read: ${errorMessage(cause)}`;
    throw new AwakenError("storage_corrupt", message, { details: { namespace, id }, cause });
  }
}

export interface ConfigStore {
  load(key: ConfigKey): Promise<ConfigEntry | undefined>;

  /** By id in code unit order; `after` and `next` are ids. */
  list(namespace: string, query?: { readonly after?: string; readonly limit?: number }): Promise<Page<ConfigEntry, string>>;

  /** One transaction: `checkConfigRevision`, `stampConfigRecord`, write. */
  put(entry: ConfigEntry, guard?: ConfigGuard): Promise<ConfigEntry>;

  /** False when there was nothing to delete. */
  delete(key: ConfigKey, guard?: ConfigGuard): Promise<boolean>;

  /** Keys that changed in any process, from now on; best effort, so a listener also reads again now and then. */
  watch(options: { readonly signal: AbortSignal }): AsyncIterable<ConfigKey>;
}
