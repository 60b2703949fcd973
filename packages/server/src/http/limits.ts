import { AwakenError } from "@awaken/contract";

/** How much and how long a server takes. */
export interface ServerLimits {
  /** Requests that are worked on at the same time; streams are counted apart. Default 100. */
  readonly maxRequests: number;
  /** Event streams that are open at the same time. Default 10,000. */
  readonly maxStreams: number;
  /** For the body of a request to come. Default 30 s. */
  readonly bodyMs: number;
  /** For a request to be answered. Default 60 s. */
  readonly requestMs: number;
}

const DEFAULTS: ServerLimits = { maxRequests: 100, maxStreams: 10_000, bodyMs: 30_000, requestMs: 60_000 };

export function toLimits(given: Partial<ServerLimits> = {}): ServerLimits {
  const limits = { ...DEFAULTS, ...given };
  for (const [name, value] of Object.entries(limits)) {
    if (!(name in DEFAULTS)) throw new AwakenError("config_validation_failed", `createServer: there is no limit '${name}'`);
    if (!Number.isFinite(value) || value <= 0)
      throw new AwakenError("config_validation_failed", `createServer: the limit ${name} must be above 0`);
  }
  return limits;
}
