import { AwakenError, didYouMean, isJsonObject, type JsonValue } from "@awaken/contract";

/** How stubborn an inference is. Durations of 0 switch a wait off. */
export interface InferencePolicy {
  /** Further attempts to open a stream. */
  readonly maxRetries: number;
  readonly backoffBaseMs: number;
  readonly overloadedBackoffBaseMs: number;
  /** Further streams after one broke, per logical inference. */
  readonly maxStreamRetries: number;
  /** Silence that counts as a broken stream, also before its first part; doubled for models that think. */
  readonly streamIdleTimeoutMs: number;
  /** How long a provider may take to open a stream, where that is less. */
  readonly openTimeoutMs: number;
  /** A vendor that asks for a longer wait has failed: nobody sleeps for hours. */
  readonly maxRetryAfterMs: number;
  /** Further requests after an answer that was cut by the token limit. */
  readonly maxContinuationRetries: number;
}

export const DEFAULT_INFERENCE_POLICY: InferencePolicy = Object.freeze({
  maxRetries: 2,
  backoffBaseMs: 500,
  overloadedBackoffBaseMs: 2000,
  maxStreamRetries: 2,
  streamIdleTimeoutMs: 60_000,
  openTimeoutMs: 120_000,
  maxRetryAfterMs: 60_000,
  maxContinuationRetries: 2,
});

export const RETRY_SECTION = "retry";

const FIELDS = [
  "maxRetries",
  "backoffBaseMs",
  "overloadedBackoffBaseMs",
  "maxStreamRetries",
  "streamIdleTimeoutSecs",
  "openTimeoutSecs",
  "maxRetryAfterSecs",
] as const;
type Field = (typeof FIELDS)[number];
const MS = 1000;

const refuse = (problem: string): never => {
  throw new AwakenError("invalid_plugin_config", `section '${RETRY_SECTION}' is invalid: ${problem}`, {
    details: { section: RETRY_SECTION },
  });
};

/** Reads the `retry` section of an agent. What it does not say has its default; it must say nothing unknown. */
export function readPolicy(section: JsonValue | undefined, maxContinuationRetries: number): InferencePolicy {
  const defaults = DEFAULT_INFERENCE_POLICY;
  if (section === undefined) return { ...defaults, maxContinuationRetries };
  const fields = isJsonObject(section) ? section : refuse("expected an object");
  const unknown = Object.keys(fields).find((name) => !FIELDS.some((field) => field === name));
  if (unknown !== undefined) refuse(`unknown field '${unknown}'${didYouMean(unknown, FIELDS) || `; known are ${FIELDS.join(", ")}`}`);
  const read = (field: Field, fallback: number): number => {
    const value = fields[field] ?? fallback;
    if (typeof value === "number" && Number.isSafeInteger(value) && value >= 0) return value;
    return refuse(`'${field}' must be a whole number that is not negative`);
  };
  const readSecs = (field: Field, fallbackMs: number): number => read(field, fallbackMs / MS) * MS;
  return {
    maxRetries: read("maxRetries", defaults.maxRetries),
    backoffBaseMs: read("backoffBaseMs", defaults.backoffBaseMs),
    overloadedBackoffBaseMs: read("overloadedBackoffBaseMs", defaults.overloadedBackoffBaseMs),
    maxStreamRetries: read("maxStreamRetries", defaults.maxStreamRetries),
    streamIdleTimeoutMs: readSecs("streamIdleTimeoutSecs", defaults.streamIdleTimeoutMs),
    openTimeoutMs: readSecs("openTimeoutSecs", defaults.openTimeoutMs),
    maxRetryAfterMs: readSecs("maxRetryAfterSecs", defaults.maxRetryAfterMs),
    maxContinuationRetries,
  };
}
