import { AwakenError, type ErrorCode, isJson, validate } from "@awaken/contract";
import { sameJson } from "@awaken/contract/store";
import type { AnyStateKey } from "./key.ts";
import { isFit } from "./stored-value.ts";

function refuse(key: AnyStateKey, code: ErrorCode, message: string): never {
  throw new AwakenError(code, `state key '${key.name}': ${message}`, { details: { key: key.name, message } });
}

/** What the schema makes of the value. */
function made(key: AnyStateKey, value: unknown, of: string): unknown {
  const result = validate(key.schema, value);
  if (result instanceof Promise) {
    return refuse(key, "invalid_schema", "its schema is asynchronous, and state is checked where nobody can wait: use a synchronous one");
  }
  if (result.type === "invalid") refuse(key, "key_encode", `${of} does not fit its schema: ${result.message}`);
  return result.value;
}

/**
 * Throws when a new value does not fit its key's schema, which would refuse it again when the thread is opened next. A schema may change
 * what it takes, but what it gives must be JSON that it takes as it is: that is stored the next time, and read again.
 */
export function checkValue(key: AnyStateKey, value: unknown): void {
  if (isFit(key.schema, value)) return;
  const given = made(key, value, "the value");
  if (!key.persistent || given === value) return;
  if (!isJson(given)) refuse(key, "key_encode", "its schema makes of the value what is no JSON, and could not be stored again");
  if (sameJson(given, value)) return;
  if (sameJson(made(key, given, "what the schema makes of the value"), given)) return;
  refuse(key, "key_encode", "its schema changes what it gave itself, so that the value would be another one each time it is read");
}
