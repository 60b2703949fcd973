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

const SECOND = 1000;

/** What the section may say, by the name that it has there: which field of the policy it is, and in what unit. */
const FIELDS: { readonly [name: string]: readonly [field: keyof InferencePolicy, unit: number] } = {
  maxRetries: ["maxRetries", 1],
  backoffBaseMs: ["backoffBaseMs", 1],
  overloadedBackoffBaseMs: ["overloadedBackoffBaseMs", 1],
  maxStreamRetries: ["maxStreamRetries", 1],
  streamIdleTimeoutSecs: ["streamIdleTimeoutMs", SECOND],
  openTimeoutSecs: ["openTimeoutMs", SECOND],
  maxRetryAfterSecs: ["maxRetryAfterMs", SECOND],
};

const refuse = (problem: string): never => {
  throw new AwakenError("invalid_plugin_config", `section '${RETRY_SECTION}' is invalid: ${problem}`, {
    details: { section: RETRY_SECTION },
  });
};

/** Reads the `retry` section of an agent. What it does not say has its default; it must say nothing unknown. */
export function readPolicy(section: JsonValue | undefined, maxContinuationRetries: number): InferencePolicy {
  const policy = { ...DEFAULT_INFERENCE_POLICY, maxContinuationRetries };
  if (section === undefined) return policy;
  if (!isJsonObject(section)) return refuse("expected an object");
  const names = Object.keys(FIELDS);
  const unknown = Object.keys(section).find((name) => !names.includes(name));
  if (unknown !== undefined) refuse(`unknown field '${unknown}'${didYouMean(unknown, names) || `; known are ${names.join(", ")}`}`);
  for (const [name, [field, unit]] of Object.entries(FIELDS)) {
    const value = section[name] ?? policy[field] / unit;
    if (typeof value !== "number" || !Number.isSafeInteger(value) || value < 0)
      return refuse(`'${name}' must be a whole number that is not negative`);
    policy[field] = value * unit;
  }
  return policy;
}
