import { AwakenError, isJsonObject, type JsonValue, retrySectionSchema, validateSync } from "@awaken/contract";

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

export const RETRY_SECTION = "retry";

const SECOND = 1000;

function readSection(section: JsonValue) {
  const read = validateSync(retrySectionSchema, section);
  if (read.type === "valid") return read.value;
  throw new AwakenError("invalid_plugin_config", `section '${RETRY_SECTION}' is invalid: ${read.message}`, {
    details: { section: RETRY_SECTION },
  });
}

const DEFAULTS = readSection({});

/** A field that is null says nothing: agents are stored so. */
const said = (section: JsonValue): JsonValue =>
  isJsonObject(section)
    ? Object.fromEntries(Object.entries(section).filter(([name, value]) => value !== null || !(name in DEFAULTS)))
    : section;

/** Reads the `retry` section of an agent. What it does not say has its default; it must say nothing unknown. */
export function readPolicy(section: JsonValue | undefined, maxContinuationRetries: number): InferencePolicy {
  const read = section === undefined ? DEFAULTS : readSection(said(section));
  const { streamIdleTimeoutSecs, openTimeoutSecs, maxRetryAfterSecs, ...counts } = read;
  return {
    ...counts,
    streamIdleTimeoutMs: streamIdleTimeoutSecs * SECOND,
    openTimeoutMs: openTimeoutSecs * SECOND,
    maxRetryAfterMs: maxRetryAfterSecs * SECOND,
    maxContinuationRetries,
  };
}

export const DEFAULT_INFERENCE_POLICY: InferencePolicy = Object.freeze(readPolicy(undefined, 2));
