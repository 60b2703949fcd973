import { errorMessage, isJson, type JsonValue } from "@awaken/contract";
import { usageError } from "./cli-error.ts";

/** The JSON that an option carries. */
export function readJson(text: string, option: string): JsonValue {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (thrown) {
    throw usageError(`${option} is no JSON: ${errorMessage(thrown)}`, `texts need quotes of their own: ${option} '"text"'`);
  }
  if (isJson(value)) return value;
  throw usageError(`${option} holds something that JSON cannot carry`);
}

export const MAX_LIMIT = 10_000;

/** A count from 1. */
export function readLimit(text: string | undefined, otherwise: number): number {
  if (text === undefined) return otherwise;
  const count = Number(text);
  if (/^\d+$/.test(text) && count >= 1 && count <= MAX_LIMIT) return count;
  throw usageError(`--limit must be a whole number from 1 to ${MAX_LIMIT}, got '${text}'`);
}
