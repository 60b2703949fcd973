import { loadPeer } from "../peer/load-peer.ts";

/** The official client. It is loaded when the first server is connected. */
export type Sdk = typeof import("@modelcontextprotocol/client");

const NAME = "@modelcontextprotocol/client";

export const loadSdk = (): Promise<Sdk> =>
  loadPeer({ name: NAME, neededBy: "mcp()", install: `${NAME}@2` }, () => import("@modelcontextprotocol/client"));
