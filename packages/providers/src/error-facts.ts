import { APICallError } from "@ai-sdk/provider";

/** What can be read off an error, whichever layer made it. */
export interface ErrorFacts {
  readonly status?: number;
  /** For people. */
  readonly text: string;
  /** The text and the vendor's own codes; classification without a status reads it. */
  readonly words: string;
  readonly body?: string;
  readonly retryAfter?: string;
}

const MAX_DEPTH = 4;

/** Error types that vendors send inside a stream instead of a status. */
const STATUS_OF_TYPE: Readonly<Record<string, number>> = {
  invalid_request_error: 400,
  context_length_exceeded: 400,
  authentication_error: 401,
  invalid_api_key: 401,
  permission_error: 403,
  not_found_error: 404,
  model_not_found: 404,
  request_too_large: 413,
  rate_limit_error: 429,
  rate_limit_exceeded: 429,
  insufficient_quota: 429,
  api_error: 500,
  server_error: 500,
  timeout_error: 504,
  overloaded_error: 529,
};

type Fields = Readonly<Record<string, unknown>>;

const isFields = (value: unknown): value is Fields => typeof value === "object" && value !== null;
const isHttpError = (value: unknown): value is number =>
  typeof value === "number" && Number.isInteger(value) && value >= 400 && value < 600;

function messageOf(error: Fields): string {
  const { message, code } = error;
  if (typeof message === "string" && message !== "") return message;
  return typeof code === "string" ? code : "";
}

/** The messages of the chain, outermost first, each only once. */
function describeChain(error: Fields): string {
  const texts: string[] = [];
  let current: unknown = error;
  for (let depth = 0; isFields(current) && depth < MAX_DEPTH; depth++) {
    const text = messageOf(current);
    if (text !== "" && !texts.some((seen) => seen.includes(text))) texts.push(text);
    const { cause, errors } = current;
    current = cause ?? (Array.isArray(errors) ? errors[0] : undefined);
  }
  return texts.join(": ");
}

function stringify(value: unknown): string {
  try {
    return JSON.stringify(value) ?? String(value);
  } catch {
    return "an error that cannot be shown";
  }
}

function findStatus(error: Fields): number | undefined {
  const { statusCode, status, code, type } = error;
  for (const value of [statusCode, status, code]) if (isHttpError(value)) return value;
  for (const value of [code, type, status]) if (typeof value === "string" && value in STATUS_OF_TYPE) return STATUS_OF_TYPE[value];
  return undefined;
}

function readApiError(error: APICallError): ErrorFacts {
  const text = describeChain({ message: error.message, cause: error.cause }) || "no details";
  const retryAfter = error.responseHeaders?.["retry-after"];
  return {
    text,
    words: text,
    ...(error.statusCode !== undefined && { status: error.statusCode }),
    ...(error.responseBody !== undefined && error.responseBody !== "" && { body: error.responseBody }),
    ...(retryAfter !== undefined && { retryAfter }),
  };
}

/** Stream errors are plain objects: `{ type, message }`, `{ error: { … } }`, or with a status and the vendor's `data`. */
function readObject(error: Fields): ErrorFacts {
  const { error: nested } = error;
  const inner = isFields(nested) ? nested : error;
  const text = describeChain(inner) || describeChain(error) || stringify(error);
  const { type, code, data } = inner;
  const status = findStatus(inner) ?? findStatus(error);
  const words = [text, type, code].filter((word) => typeof word === "string").join(" ");
  return { text, words, ...(status !== undefined && { status }), body: `${words} ${data === undefined ? "" : stringify(data)}` };
}

export function readErrorFacts(thrown: unknown): ErrorFacts {
  if (APICallError.isInstance(thrown)) return readApiError(thrown);
  if (isFields(thrown)) return readObject(thrown);
  const text = String(thrown);
  return { text, words: text };
}
