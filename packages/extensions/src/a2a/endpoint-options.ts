import { AwakenError, type JsonObject } from "@awaken/contract";
import type { RemoteEndpoint } from "@awaken/contract/spec";

const POLL_INTERVAL_MS = 2_000;
const MAX_UNSIGNED = 2 ** 32 - 1;

/** `options` of an endpoint. */
export interface EndpointOptions {
  /** How long to wait between two looks at a task that cannot be followed. */
  readonly pollIntervalMs: number;
  /** How much of the conversation the other side shall send back. Undefined: as it likes. */
  readonly historyLength: number | undefined;
  /** The other side answers when it has the task, and not when it is done. */
  readonly returnImmediately: boolean;
  /** Whether to follow tasks before looking at them again and again. */
  readonly streaming: boolean;
}

const refuse = (message: string): never => {
  throw new AwakenError("config_validation_failed", message);
};

function unsigned(options: JsonObject, key: string, least: number): number | undefined {
  const value = options[key];
  if (value === undefined) return undefined;
  const isUnsigned = typeof value === "number" && Number.isInteger(value) && value >= least && value <= MAX_UNSIGNED;
  return isUnsigned ? value : refuse(`A2A option \`${key}\` must be an unsigned integer${least === 0 ? "" : ` of at least ${least}`}`);
}

function flag(options: JsonObject, key: string, absent: boolean): boolean {
  const value = options[key] ?? absent;
  return typeof value === "boolean" ? value : refuse(`A2A option \`${key}\` must be a boolean`);
}

const KNOWN = new Set(["pollIntervalMs", "historyLength", "returnImmediately", "streaming", "a2aServerId"]);

/** Throws what is wrong with the options of an endpoint. */
export function endpointOptions({ type, options }: RemoteEndpoint): EndpointOptions {
  if (type !== "a2a") refuse(`remote endpoint backend must be \`a2a\`, got \`${type}\``);
  const unknown = Object.keys(options).find((key) => !KNOWN.has(key));
  if (unknown !== undefined) refuse(`unknown A2A option \`${unknown}\`: it may be ${[...KNOWN].join(", ")}`);
  return {
    pollIntervalMs: unsigned(options, "pollIntervalMs", 1) ?? POLL_INTERVAL_MS,
    historyLength: unsigned(options, "historyLength", 0),
    returnImmediately: flag(options, "returnImmediately", true),
    streaming: flag(options, "streaming", true),
  };
}
