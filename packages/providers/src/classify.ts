import {
  EmptyResponseBodyError,
  InvalidArgumentError,
  InvalidPromptError,
  InvalidResponseDataError,
  JSONParseError,
  LoadAPIKeyError,
  LoadSettingError,
  NoSuchModelError,
  TypeValidationError,
  UnsupportedFunctionalityError,
} from "@ai-sdk/provider";
import { AwakenError, InferenceError, type InferenceFailureType } from "@awaken/contract";
import { type ErrorFacts, readErrorFacts } from "./error-facts.ts";
import { type Scrub, toSafeCause } from "./scrub.ts";

export type FailureClass = Exclude<
  InferenceFailureType,
  "stream-interrupted" | "all-models-unavailable" | "pool-attempts-exhausted" | "cancelled"
>;

const BY_STATUS: ReadonlyMap<number, FailureClass> = new Map<number, FailureClass>([
  [401, "unauthorized"],
  [403, "unauthorized"],
  [404, "model-not-found"],
  [408, "timeout"],
  [413, "context-overflow"],
  [422, "invalid-request"],
  [429, "rate-limited"],
  [503, "overloaded"],
  [504, "timeout"],
  [529, "overloaded"],
]);

const MAX_TEXT = 2000;
const OVERFLOW =
  /prompt is too long|context_length_exceeded|context length|input is too long|maximum context length|reduce the length|too many tokens|request too large|context window|context limit|maximum prompt length|maximum number of tokens/i;
const FILTERED = /content_filter|content policy|content_policy_violation|blocked by safety/i;
const OVERLOADED = /overloaded/i;
// Whole words, so that "generate", "temperature" and "moderate" are not rate limits.
const RATE_LIMITED = /\brate[\s_-]?limit|\btoo many requests\b|(?:\b|_)quota(?:\b|_)|\bresource[\s_]exhausted\b/i;
const TIMED_OUT = /timeout|timed out|\betimedout\b/i;

function classifyStatus(status: number, { body, text }: ErrorFacts): FailureClass {
  if (status === 400) return OVERFLOW.test(body ?? text) ? "context-overflow" : "invalid-request";
  return BY_STATUS.get(status) ?? "provider";
}

function classifyText(text: string): FailureClass {
  if (FILTERED.test(text)) return "content-filtered";
  if (OVERLOADED.test(text)) return "overloaded";
  if (RATE_LIMITED.test(text)) return "rate-limited";
  return TIMED_OUT.test(text) ? "timeout" : "provider";
}

/** Errors that the SDK raises itself. Their texts may quote the model or the prompt, so the class decides and not the wording. */
function classifySdkError(thrown: unknown): FailureClass | undefined {
  if (NoSuchModelError.isInstance(thrown)) return "model-not-found";
  if (LoadAPIKeyError.isInstance(thrown) || LoadSettingError.isInstance(thrown)) return "unauthorized";
  for (const kind of [UnsupportedFunctionalityError, InvalidPromptError, InvalidArgumentError]) {
    if (kind.isInstance(thrown)) return "invalid-request";
  }
  for (const kind of [JSONParseError, TypeValidationError, InvalidResponseDataError, EmptyResponseBodyError]) {
    if (kind.isInstance(thrown)) return "provider";
  }
  return undefined;
}

const clip = (text: string): string => (text.length > MAX_TEXT ? `${text.slice(0, MAX_TEXT)}…` : text);

/** Only whole seconds count; dates are ignored. */
function readRetryAfter(header: string | undefined): { retryAfterMs?: number } {
  const seconds = /^\s*(\d{1,9})\s*$/.exec(header ?? "")?.[1];
  return seconds === undefined ? {} : { retryAfterMs: Number(seconds) * 1000 };
}

/** Whatever a model threw, as one of ours. Cancelling and our own time limit are the caller's to tell apart. */
export function classify(thrown: unknown, scrub: Scrub): InferenceError | AwakenError {
  if (thrown instanceof InferenceError || AwakenError.is(thrown)) return thrown;
  const facts = readErrorFacts(thrown);
  const { status, words } = facts;
  const type = status !== undefined ? classifyStatus(status, facts) : (classifySdkError(thrown) ?? classifyText(words));
  const canWait = type === "rate-limited" || type === "overloaded";
  const message = clip(scrub(facts.text));
  return new InferenceError({ type, message, ...(canWait && readRetryAfter(facts.retryAfter)) }, toSafeCause(thrown, scrub));
}
