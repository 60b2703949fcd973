import { INFERENCE_FAILURES, InferenceError, type InferenceFailure, type InferenceFailureType, isJsonObject } from "@awaken/contract";

/** What is known of an HTTP answer that was no success. */
export interface HttpFailure {
  readonly status: number;
  readonly message: string;
  readonly body?: string;
  /** The header as it came. */
  readonly retryAfter?: string;
}

const BY_STATUS: Readonly<Record<number, InferenceFailureType>> = {
  401: "unauthorized",
  403: "unauthorized",
  404: "model-not-found",
  408: "timeout",
  413: "context-overflow",
  422: "invalid-request",
  429: "rate-limited",
  503: "overloaded",
  504: "timeout",
  529: "overloaded",
};

const OVERFLOW =
  /prompt is too long|context_length_exceeded|context length|input is too long|maximum context length|reduce the length|too many tokens|request too large|context window|context limit|maximum prompt length|maximum number of tokens/i;
const FILTERED = /content_filter|content policy|content_policy_violation|blocked by safety/i;
const OVERLOADED = /overloaded/i;
// Whole words only: "generate" and "temperature" hold "rate" too.
const RATE_LIMITED =
  /\brate[\s_-]?limit(?:s|ed|ing)?(?:\b|_)|\btoo[\s_]many[\s_]requests\b|\bquota[\s_]exceeded\b|\bresource[\s_]exhausted\b/i;
const TIMED_OUT = /timeout|timed out/i;

const MS = 1000;
const MAX_CAUSES = 4;

/** Whole seconds only; a date says nothing about a clock that we share. */
export function parseRetryAfter(header: string | undefined): number | undefined {
  return header !== undefined && /^\s*\d+\s*$/.test(header) ? Number(header) * MS : undefined;
}

export function classifyHttp({ status, message, body, retryAfter }: HttpFailure): InferenceFailure {
  const type = BY_STATUS[status] ?? (status === 400 ? classifyBadRequest(body ?? message) : "provider");
  const retryAfterMs = type === "rate-limited" || type === "overloaded" ? parseRetryAfter(retryAfter) : undefined;
  return retryAfterMs === undefined ? { type, message } : { type, message, retryAfterMs };
}

const classifyBadRequest = (text: string): InferenceFailureType => (OVERFLOW.test(text) ? "context-overflow" : "invalid-request");

export function classifyText(text: string): InferenceFailureType {
  if (FILTERED.test(text)) return "content-filtered";
  if (OVERLOADED.test(text)) return "overloaded";
  if (RATE_LIMITED.test(text)) return "rate-limited";
  return TIMED_OUT.test(text) ? "timeout" : "provider";
}

const isObject = (value: unknown): value is object => typeof value === "object" && value !== null;
const field = (value: object, name: string): unknown => Reflect.get(value, name);

/** An error of another copy of our package has another class, but the same shape. */
function knownFailure(thrown: unknown): InferenceFailure | undefined {
  if (thrown instanceof InferenceError) return thrown.failure;
  if (!(thrown instanceof Error) || thrown.name !== "InferenceError") return undefined;
  const failure = field(thrown, "failure");
  if (!isJsonObject(failure)) return undefined;
  const { type, message, retryAfterMs } = failure;
  const known = Object.keys(INFERENCE_FAILURES).find((name): name is InferenceFailureType => name === type);
  if (known === undefined || typeof message !== "string") return undefined;
  return typeof retryAfterMs === "number" ? { type: known, message, retryAfterMs } : { type: known, message };
}

function headerOf(thrown: object, name: string): string | undefined {
  const headers = field(thrown, "responseHeaders") ?? field(thrown, "headers");
  if (headers instanceof Headers) return headers.get(name) ?? undefined;
  if (!isObject(headers)) return undefined;
  const key = Object.keys(headers).find((candidate) => candidate.toLowerCase() === name);
  const value = key === undefined ? undefined : field(headers, key);
  return typeof value === "string" ? value : undefined;
}

/** The HTTP status that an error carries, if it is one of failure. */
export function statusOf(thrown: unknown): number | undefined {
  const status = isObject(thrown) ? (field(thrown, "statusCode") ?? field(thrown, "status")) : undefined;
  return typeof status === "number" && status >= 400 ? status : undefined;
}

function httpOf(thrown: object, message: string): HttpFailure | undefined {
  const status = statusOf(thrown);
  if (status === undefined) return undefined;
  const body = field(thrown, "responseBody") ?? field(thrown, "body");
  const retryAfter = headerOf(thrown, "retry-after");
  return {
    status,
    message,
    ...(typeof body === "string" && body !== "" ? { body } : {}),
    ...(retryAfter === undefined ? {} : { retryAfter }),
  };
}

function textOf(thrown: unknown): string {
  if (thrown instanceof Error) return thrown.message === "" ? thrown.name : thrown.message;
  if (typeof thrown === "string") return thrown;
  if (isObject(thrown) && typeof field(thrown, "message") === "string") return String(field(thrown, "message"));
  try {
    return JSON.stringify(thrown) ?? String(thrown);
  } catch {
    return String(thrown);
  }
}

/** The thrown value and what caused it, nearest first: a failed fetch tells its reason only there. */
function causesOf(thrown: unknown): unknown[] {
  const causes = [thrown];
  for (let value = thrown; isObject(value) && causes.length < MAX_CAUSES; ) {
    value = field(value, "cause") ?? field(value, "lastError");
    if (value === undefined || value === null) break;
    causes.push(value);
  }
  return causes;
}

const codeOf = (thrown: unknown): string[] => {
  const code = isObject(thrown) ? field(thrown, "code") : undefined;
  return typeof code === "string" ? [code] : [];
};

/** Says what kind of failure a provider threw: by its own word, by the HTTP status, or by the text. */
export function classify(thrown: unknown): InferenceFailure {
  const causes = causesOf(thrown);
  for (const cause of causes) {
    const known = knownFailure(cause);
    if (known !== undefined) return known;
    const http = isObject(cause) ? httpOf(cause, textOf(cause)) : undefined;
    if (http !== undefined) return classifyHttp(http);
  }
  const message = [...new Set(causes.flatMap((cause) => [textOf(cause), ...codeOf(cause)]))].join(": ");
  return { type: classifyText(message), message };
}
