import { AwakenError, type ErrorCode, type Schema, sameJson, validate } from "@awaken/contract";
import type { AnyStateKey } from "./key.ts";

/** Schemas of ours say quickly whether a value is as they would give it. */
const isFit = (schema: Schema, value: unknown): boolean =>
  "fits" in schema && typeof schema.fits === "function" && Reflect.apply(schema.fits, schema, [value, 0]) === true;

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
 * what it takes, but it must take what it gives: that is stored the next time.
 */
export function checkValue(key: AnyStateKey, value: unknown): void {
  if (isFit(key.schema, value)) return;
  const given = made(key, value, "the value");
  if (!key.persistent || sameJson(given, value)) return;
  made(key, given, "what the schema makes of the value");
}
