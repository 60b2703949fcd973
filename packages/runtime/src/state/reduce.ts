import { AwakenError, errorMessage, freezeJson } from "@awaken/contract";
import type { AnyStateKey } from "./key.ts";
import { seal } from "./seal.ts";

// The functions of a key, called with care: whatever they do wrong is an error that names the key.

const threw = (key: AnyStateKey, what: string, cause: unknown): AwakenError =>
  new AwakenError("reducer_failed", `state key '${key.name}': ${what} threw: ${errorMessage(cause)}`, {
    cause,
    details: { key: key.name },
  });

/** A value that a key made out of the one before: there, frozen, and plain JSON if the key is persistent. Its schema is asked later. */
function sealed(key: AnyStateKey, what: string, before: unknown, value: unknown): unknown {
  if (value === undefined) {
    throw new AwakenError("reducer_failed", `state key '${key.name}': ${what} returned undefined`, { details: { key: key.name } });
  }
  if (key.trusted) freezeJson(value);
  else seal(key.name, value, before, key.persistent);
  return value;
}

export function initialValue(key: AnyStateKey): unknown {
  let value: unknown;
  try {
    value = key.initial();
  } catch (cause) {
    throw threw(key, "initial", cause);
  }
  return sealed(key, "initial", undefined, value);
}

export function applied(key: AnyStateKey, before: unknown, update: unknown): unknown {
  let value: unknown;
  try {
    value = key.apply(before, update);
  } catch (cause) {
    throw threw(key, "apply", cause);
  }
  return sealed(key, "apply", before, value);
}

export function refusal(key: AnyStateKey, before: unknown, update: unknown): string | undefined {
  try {
    return key.refuse?.(before, update);
  } catch (cause) {
    throw threw(key, "refuse", cause);
  }
}
