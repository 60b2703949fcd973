import { AwakenError, errorMessage, type JsonValue, type Log, validateSync } from "@awaken/contract";
import type { AnyStateKey, Rescued } from "./key.ts";
import { seal } from "./seal.ts";

/**
 * Who reads the stored values: the run of an agent, for which each key decides what becomes of one that does not fit; a caller who gave
 * them himself; or somebody who only ends a run and must not be kept from it.
 */
export type Reading = "as-key-says" | "strict" | "lenient";

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
