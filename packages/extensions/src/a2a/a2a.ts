import type { Backend, BackendAbort, BackendRequest, BackendResult } from "@awaken/contract";
import { A2A_PROFILE, type BackendFactory, type Clock, systemClock } from "@awaken/runtime";
import { Addresses } from "./addresses.ts";
import { endpointOptions } from "./endpoint-options.ts";
import { loadExchange } from "./load-exchange.ts";
import type { Setup } from "./setup.ts";

export interface A2aOptions {
  /**
   * Addresses that may be asked although they are not public: `loopback`, an address, or a range such as `10.0.0.0/8`. Default: none. It is
   * held against every address that a name has when it is connected to; redirects are not followed.
   */
  readonly allow?: readonly string[];
  /** The longest answer, in bytes: one body, or all of one stream. Default 16 MiB. */
  readonly maxBytes?: number;
  /** Default: that of the system. */
  readonly clock?: Clock;
}

const MAX_BYTES = 16 * 1024 * 1024;

class A2aBackend implements Backend {
  readonly profile = A2A_PROFILE;
  readonly #setup: Setup;
  /** Root runs that are under way here: whoever tells one to stop waits until the other side was told. */
  readonly #underWay = new Map<string, Promise<unknown>>();

  constructor(setup: Omit<Setup, "options">) {
    const { endpoint, addresses } = setup;
    addresses.checkHost(new URL(endpoint.baseUrl));
    this.#setup = { ...setup, options: endpointOptions(endpoint) };
  }

  async run(request: BackendRequest): Promise<BackendResult> {
    const { exchange } = await loadExchange();
    if (request.role === "delegate") return exchange(this.#setup, request);
    const { runId } = request.identity;
    const asked = exchange(this.#setup, request);
    this.#underWay.set(runId, asked);
    try {
      return await asked;
    } finally {
      this.#underWay.delete(runId);
    }
  }

  async abort({ identity, stored }: BackendAbort): Promise<void> {
    const underWay = this.#underWay.get(identity.runId);
    if (underWay !== undefined) {
      await underWay.catch(() => {});
      return;
    }
    const { cancelStored } = await loadExchange();
    await cancelStored(this.#setup, stored, identity.runId);
  }
}

/** Talks to agents behind the A2A protocol, HTTP+JSON of version 1.0. The official client, `@a2a-js/sdk`, is loaded when the first one is asked. */
export function a2a({ allow, maxBytes = MAX_BYTES, clock = systemClock }: A2aOptions = {}): BackendFactory {
  const addresses = new Addresses(allow);
  return {
    type: "a2a",
    configSchema: CONFIG_SCHEMA,
    build: (endpoint) => new A2aBackend({ endpoint, addresses, maxBytes, clock }),
  };
}

const CONFIG_SCHEMA: NonNullable<BackendFactory["configSchema"]> = {
  version: 1,
  displayName: "A2A",
  description: "An agent behind the A2A protocol, HTTP+JSON",
  defaultConfig: { timeoutMs: 300_000 },
  schema: {
    type: "object",
    required: ["baseUrl"],
    properties: {
      baseUrl: { type: "string", description: "Where the agent's HTTP+JSON interface is, as its card has it" },
      auth: {
        type: "object",
        required: ["type", "token"],
        properties: { type: { const: "bearer" }, token: { type: "string", minLength: 1 } },
      },
      target: { type: "string", minLength: 1, description: "The tenant behind the address, where it serves several agents" },
      timeoutMs: { type: "integer", minimum: 1, default: 300_000 },
      options: {
        type: "object",
        properties: {
          pollIntervalMs: { type: "integer", minimum: 1, default: 2_000 },
          historyLength: { type: "integer", minimum: 0 },
          returnImmediately: { type: "boolean", default: true },
          streaming: { type: "boolean", default: true },
        },
      },
    },
  },
};
