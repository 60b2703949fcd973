import type { JsonObject, Secret } from "@awaken/contract";
import { a2aServerTimeoutMs, parseA2aServerSpec } from "@awaken/contract/spec";
import { type Clock, onAbort, type RemoteAgentSource, systemClock } from "@awaken/runtime";
import { Addresses } from "./addresses.ts";
import { loadCards } from "./load-exchange.ts";

/** A server that says by its card which agent it has. */
export interface A2aAgents {
  /** What stands before the slash in the id of its agent. */
  readonly id: string;
  /** The address of the server: its card is at `/.well-known/agent-card.json`. */
  readonly baseUrl: string;
  /** For the card and for the agent, at the origin of `baseUrl` and no other. */
  readonly auth?: {
    /** How the token is sent. */
    readonly type: "bearer";
    /** Masked in records and logs. */
    readonly token: string | Secret;
  };
  /** The agent behind the address. Default: as the card has it. */
  readonly target?: string;
  /** How long one answer of the agent may take. Default 5 minutes; the card has no longer than 30 seconds. */
  readonly timeoutMs?: number;
  /** `options` of the agent's endpoint. */
  readonly options?: JsonObject;
  /** As `allow` of `a2a`, which has to name the addresses too. */
  readonly allow?: readonly string[];
  /** Default: that of the system. */
  readonly clock?: Clock;
}

const ANSWER_MS = 300_000;

/** A source for `remoteAgents`: its agent is found by its card when the runtime is initialized, and called `<id>/<agent>`. */
export function a2aAgents({ allow, clock = systemClock, id, timeoutMs = ANSWER_MS, ...given }: A2aAgents): RemoteAgentSource {
  const server = parseA2aServerSpec(id, { ...given, timeoutMs });
  const addresses = new Addresses(allow);
  return {
    id,
    async discover(signal) {
      const { discoverCard } = await loadCards();
      const stop = new AbortController();
      const offs = [clock.timer(a2aServerTimeoutMs(server), () => stop.abort()), onAbort(signal, () => stop.abort())];
      try {
        const { id: agent, description, remote } = await discoverCard({ server, addresses }, stop.signal);
        return [{ id: agent, type: "remote", ...(description === "" ? undefined : { description }), remote }];
      } finally {
        for (const off of offs) off();
      }
    },
  };
}
