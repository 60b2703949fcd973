import { AwakenError, errorMessage } from "../error.ts";
import { AROUND_VALUES, isJsonObject, type JsonObject } from "../json.ts";
import { type Schema, validateSync } from "../schema.ts";
import { type RecordCheckInit, recordCheck } from "./record-check.ts";

/** One kind of stored record: every store checks with it before it writes and after it reads. */
export interface RecordKind<T> {
  readonly name: string;
  readonly version: number;
  /** Of the current version. */
  readonly schema: Schema<T>;
  /** Anything but JSON that fits the current schema throws `storage_validation`. */
  check(value: unknown): T;
  /** Migrates to the current version, then checks. Throws `storage_corrupt` or `storage_too_new`; `key` names the row in both. */
  read(row: unknown, key: string): T;
}

export interface RecordKindInit<T> extends RecordCheckInit<T> {
  readonly version: number;
  /** By the version that it starts from. The result is taken as the next version, whatever `schemaVersion` it says. */
  readonly migrations?: { readonly [from: number]: (old: JsonObject) => JsonObject };
}

/* @__NO_SIDE_EFFECTS__ */
export function defineRecord<T>(init: RecordKindInit<T>): RecordKind<T> {
  const { name, version, schema, accepts, migrations = {} } = init;

  function read(row: unknown, key: string): T {
    const corrupt = (why: string, cause?: unknown) =>
      new AwakenError("storage_corrupt", `${name} '${key}' cannot be read: ${why}`, { details: { record: name, key }, cause });
    if (!isJsonObject(row)) throw corrupt("not an object");
    const { schemaVersion: found } = row;
    if (typeof found !== "number" || !Number.isInteger(found) || found < 1) throw corrupt("no schemaVersion");
    if (found > version) {
      throw new AwakenError("storage_too_new", `${name} '${key}' has schema version ${found}, this program knows up to ${version}`, {
        details: { record: name, key, found, known: version },
      });
    }
    let current = row;
    for (let from = found; from < version; from++) {
      const migrate = migrations[from];
      if (migrate === undefined) throw corrupt(`no migration from schema version ${from}`);
      try {
        current = { ...migrate(current), schemaVersion: from + 1 };
      } catch (cause) {
        throw corrupt(`migration from schema version ${from} failed: ${errorMessage(cause)}`, cause);
      }
    }
    if (accepts?.(current, AROUND_VALUES)) return current;
    const result = validateSync(schema, current);
    if (result.type === "valid") return result.value;
    throw corrupt(result.message);
  }

  return { name, version, schema, check: recordCheck(init), read };
}
