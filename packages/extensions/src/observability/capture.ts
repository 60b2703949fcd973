import { isJsonObject, type JsonValue } from "@awaken/contract";

/** What a text is, for a redactor of one's own. */
export interface CapturedValue {
  /** Where it comes from. */
  readonly kind: "tool-arguments" | "tool-result" | "response" | "request";
  /** The tool, of arguments and results. */
  readonly tool?: string;
}

/** What of a conversation leaves the process. By default nothing does. */
export interface CaptureOptions {
  /** Answers of the model with their calls, and the prompt of the first step. Default false. */
  readonly messages?: boolean;
  /** What tools are called with, and what they give. Default `none`. */
  readonly tools?: "none" | "arguments" | "results" | "arguments-and-results";
  /** Only of these tools. Default: of all. */
  readonly onlyTools?: readonly string[];
  /** Sees each value before the built-in redactor does; what it gives is taken instead. What it throws leaves the value out. */
  redact?(value: JsonValue, of: CapturedValue): JsonValue;
}

export const MAX_PAYLOAD_BYTES = 8192;
const HIDDEN = "***";

const SECRET_KEYS = [
  ...["secret", "token", "password", "api_key", "apikey", "authorization", "auth", "credential", "bearer"],
  ...["private_key", "access_key", "cookie", "session", "jwt"],
];

function isSecret(key: string): boolean {
  const plain = key.toLowerCase().replaceAll("-", "_");
  return SECRET_KEYS.some((word) => plain.includes(word));
}

/** The values of keys that sound like a secret are replaced, at any depth. */
export function redactSecrets(value: JsonValue): JsonValue {
  if (Array.isArray(value)) return value.map(redactSecrets);
  if (!isJsonObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, isSecret(key) ? HIDDEN : redactSecrets(inner)]));
}

const encoder = new TextEncoder();

function limit(value: JsonValue): JsonValue {
  const text = JSON.stringify(value);
  // A character has at most three bytes per unit, so a short text need not be measured.
  if (text.length * 3 <= MAX_PAYLOAD_BYTES) return value;
  const bytes = encoder.encode(text).length;
  if (bytes <= MAX_PAYLOAD_BYTES) return value;
  return { __awaken_payload_truncated: true, original_size_bytes: bytes, max_payload_bytes: MAX_PAYLOAD_BYTES };
}

/** Decides what is captured, and makes it fit to leave. */
export class Capture {
  readonly messages: boolean;
  readonly #arguments: boolean;
  readonly #results: boolean;
  readonly #only: ReadonlySet<string> | undefined;
  readonly #options: CaptureOptions;

  constructor(options: CaptureOptions = {}) {
    const { messages = false, tools = "none", onlyTools } = options;
    this.messages = messages;
    this.#arguments = tools === "arguments" || tools === "arguments-and-results";
    this.#results = tools === "results" || tools === "arguments-and-results";
    this.#only = onlyTools === undefined ? undefined : new Set(onlyTools);
    this.#options = options;
  }

  arguments(tool: string, value: JsonValue): JsonValue | undefined {
    return this.#arguments && this.#has(tool) ? this.#clean(value, { kind: "tool-arguments", tool }) : undefined;
  }

  result(tool: string, value: JsonValue): JsonValue | undefined {
    return this.#results && this.#has(tool) ? this.#clean(value, { kind: "tool-result", tool }) : undefined;
  }

  message(kind: "response" | "request", value: () => JsonValue): JsonValue | undefined {
    return this.messages ? this.#clean(value(), { kind }) : undefined;
  }

  #has(tool: string): boolean {
    return this.#only?.has(tool) ?? true;
  }

  #clean(value: JsonValue, of: CapturedValue): JsonValue | undefined {
    try {
      // What a redactor gives is taken whatever it is: null hides, and nothing at all leaves the value out.
      const seen = this.#options.redact === undefined ? value : this.#options.redact(value, of);
      return limit(redactSecrets(seen));
    } catch {
      // A redactor that fails has not looked.
      return undefined;
    }
  }
}
