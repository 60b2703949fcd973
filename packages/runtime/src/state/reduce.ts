import { AwakenError, errorMessage } from "@awaken/contract";
import type { AnyStateKey } from "./key.ts";

// The functions of a key, called with care: whatever they do wrong is an error that names the key.

const threw = (key: AnyStateKey, what: string, cause: unknown): AwakenError =>
  new AwakenError("reducer_failed", `state key '${key.name}': ${what} threw: ${errorMessage(cause)}`, {
    cause,
    details: { key: key.name },
  });

export function initialValue(key: AnyStateKey): unknown {
  try {
    return key.initial();
  } catch (cause) {
    throw threw(key, "initial", cause);
  }
}

export function applied(key: AnyStateKey, before: unknown, update: unknown): unknown {
  try {
    return key.apply(before, update);
  } catch (cause) {
    throw threw(key, "apply", cause);
  }
}

export function refusal(key: AnyStateKey, before: unknown, update: unknown): string | undefined {
  try {
    return key.refuse?.(before, update);
  } catch (cause) {
    throw threw(key, "refuse", cause);
  }
}
