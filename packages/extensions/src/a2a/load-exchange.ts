import { loadPeer } from "../peer/load-peer.ts";

const NAME = "@a2a-js/sdk";
const PEER = { name: NAME, neededBy: "a remote agent (A2A)", install: `${NAME}@1` };

/** What needs the official client: it is an optional package, and loaded with the first agent that is asked. */
export const loadExchange = (): Promise<typeof import("./exchange.ts")> => loadPeer(PEER, () => import("./exchange.ts"));

/** The same for whoever looks for agents. */
export const loadCards = (): Promise<typeof import("./card.ts")> => loadPeer(PEER, () => import("./card.ts"));
