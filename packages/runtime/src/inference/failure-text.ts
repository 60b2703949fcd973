import type { InferenceFailure, InferenceFailureType } from "@awaken/contract";

const PREFIX: Readonly<Record<InferenceFailureType, string>> = {
  provider: "provider error: ",
  "rate-limited": "rate limited: ",
  overloaded: "provider overloaded: ",
  timeout: "timeout: ",
  "stream-interrupted": "stream interrupted",
  "context-overflow": "context overflow: ",
  "invalid-request": "invalid request: ",
  unauthorized: "unauthorized: ",
  "model-not-found": "model not found: ",
  "content-filtered": "content filtered: ",
  "all-models-unavailable": "all models unavailable",
  "pool-attempts-exhausted": "pool attempts exhausted",
  cancelled: "cancelled",
};

// Vendors echo keys in their answers, and a failed fetch names its address.
const SECRETS = [
  /\b(?:sk|pk|rk|gsk|xai|ak)[-_][A-Za-z0-9_-]{8,}/g,
  /\bAIza[A-Za-z0-9_-]{16,}/g,
  /(?<=\b(?:bearer|basic)\s+)[^\s"',;]{8,}/gi,
  /(?<=\b(?:api[-_]?key|access[-_]token)["']?\s*[=:]\s*["']?)[^\s"'&,;]{8,}/gi,
  /(?<=[?&](?:key|token)=)[^\s"'&]{8,}/gi,
] as const;

const redact = (text: string): string => SECRETS.reduce((safe, secret) => safe.replace(secret, "***"), text);

/** The stable text of a failure, without anything that looks like a key. */
export function failureText({ type, message }: InferenceFailure): string {
  const prefix = PREFIX[type];
  if (message.startsWith(prefix)) return redact(message);
  if (prefix.endsWith(" ")) return prefix + redact(message);
  return type === "stream-interrupted" ? `${prefix} (${redact(message)})` : prefix;
}
