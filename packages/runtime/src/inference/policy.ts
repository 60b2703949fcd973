import { AwakenError, isJsonObject, type JsonValue } from "@awaken/contract";

/** How stubborn an inference is. Durations of 0 switch a wait off. */
export interface InferencePolicy {
  /** Further attempts to open a stream. */
  readonly maxRetries: number;
  readonly backoffBaseMs: number;
  readonly overloadedBackoffBaseMs: number;
  /** Further streams after one broke, per logical inference. */
  readonly maxStreamRetries: number;
  /** Silence that counts as a broken stream; doubled for models that think. */
  readonly streamIdleTimeoutMs: number;
  /** Further requests after an answer that was cut by the token limit. */
  readonly maxContinuationRetries: number;
  /** How long a provider may take to open a stream. */
  readonly openTimeoutMs?: number;
}

export const DEFAULT_OPEN_TIMEOUT_MS = 120_000;

export const DEFAULT_INFERENCE_POLICY: InferencePolicy = Object.freeze({
  maxRetries: 2,
  backoffBaseMs: 500,
  overloadedBackoffBaseMs: 2000,
  maxStreamRetries: 2,
  streamIdleTimeoutMs: 60_000,
  maxContinuationRetries: 2,
});

export const RETRY_SECTION = "retry";

const FIELDS = ["maxRetries", "backoffBaseMs", "overloadedBackoffBaseMs", "maxStreamRetries", "streamIdleTimeoutSecs"] as const;
type Field = (typeof FIELDS)[number];
const MS = 1000;

const refuse = (problem: string): never => {
  throw new AwakenError("invalid_plugin_config", `section '${RETRY_SECTION}' is invalid: ${problem}`, {
    details: { section: RETRY_SECTION },
  });
};

/** Reads the `retry` section of an agent. Without one the defaults apply; a given one must say `maxRetries` and nothing unknown. */
export function readPolicy(section: JsonValue | undefined, maxContinuationRetries: number): InferencePolicy {
  if (section === undefined) return { ...DEFAULT_INFERENCE_POLICY, maxContinuationRetries };
  const fields = isJsonObject(section) ? section : refuse("expected an object");
  const unknown = Object.keys(fields).find((name) => !FIELDS.some((field) => field === name));
  if (unknown !== undefined) refuse(`unknown field '${unknown}'`);
  const { maxRetries } = fields;
  if (maxRetries === undefined) refuse("'maxRetries' is required");
  const read = (field: Field, fallback: number): number => {
    const value = fields[field] ?? fallback;
    if (typeof value === "number" && Number.isSafeInteger(value) && value >= 0) return value;
    return refuse(`'${field}' must be a whole number that is not negative`);
  };
  const defaults = DEFAULT_INFERENCE_POLICY;
  return {
    maxRetries: read("maxRetries", defaults.maxRetries),
    backoffBaseMs: read("backoffBaseMs", defaults.backoffBaseMs),
    overloadedBackoffBaseMs: read("overloadedBackoffBaseMs", defaults.overloadedBackoffBaseMs),
    maxStreamRetries: read("maxStreamRetries", defaults.maxStreamRetries),
    streamIdleTimeoutMs: read("streamIdleTimeoutSecs", defaults.streamIdleTimeoutMs / MS) * MS,
    maxContinuationRetries,
  };
}
