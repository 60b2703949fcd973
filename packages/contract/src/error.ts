import type { ErrorCode, RetryableCode } from "./error-table.ts";
import type { JsonObject } from "./json.ts";

export interface AwakenErrorInit {
  /** Structured facts for programs. They travel to logs and clients, so they never hold a secret. */
  readonly details?: JsonObject;
  /** What was thrown below, for whoever looks into it. */
  readonly cause?: unknown;
}

/** Messages name what they are about, and what that is may have any length. */
const MAX_MESSAGE = 10_000;

/** The column of the table that errors know themselves; what a server answers is loaded by servers. */
const CAN_RETRY: Readonly<Record<RetryableCode, true>> = {
  revision_conflict: true,
  registry_conflict: true,
  thread_already_running: true,
  timeout: true,
  inference_provider: true,
  inference_rate_limited: true,
  inference_overloaded: true,
  inference_timeout: true,
  inference_stream_interrupted: true,
  inference_all_models_unavailable: true,
  inference_pool_attempts_exhausted: true,
  provider_unavailable: true,
  version_conflict: true,
  message_version_conflict: true,
  pending_selection_conflict: true,
  storage_io: true,
  request_timeout: true,
  server_busy: true,
  shutting_down: true,
};

const MARKER = Symbol.for("awaken.error");

/** The one error class: `code` decides what a program does, `message` says what was wrong and what was expected. */
export class AwakenError extends Error {
  override readonly name = "AwakenError";
  /** What a program decides by; it stays the same when the message is worded anew. */
  readonly code: ErrorCode;
  /** The ids and values that the message speaks of, as JSON. */
  readonly details: JsonObject;
  readonly [MARKER] = true;

  constructor(code: ErrorCode, message: string, init: AwakenErrorInit = {}) {
    super(
      message.length > MAX_MESSAGE ? `${message.slice(0, MAX_MESSAGE)}…` : message,
      init.cause === undefined ? undefined : { cause: init.cause },
    );
    this.code = code;
    this.details = init.details ?? {};
  }

  /** True for our errors, also when two copies of this package are installed. */
  static is(value: unknown): value is AwakenError {
    return typeof value === "object" && value !== null && MARKER in value;
  }

  /** Whether the same request may succeed when it is made again later. */
  get canRetry(): boolean {
    return Object.hasOwn(CAN_RETRY, this.code);
  }

  /** The cause stays out: it may hold what a client must not see. */
  toJSON(): JsonObject {
    return { code: this.code, message: this.message, details: this.details };
  }
}

/** The text of whatever was thrown. */
export function errorMessage(thrown: unknown): string {
  if (thrown instanceof Error) return thrown.message;
  try {
    return String(thrown);
  } catch {
    return "something that has no text was thrown";
  }
}
