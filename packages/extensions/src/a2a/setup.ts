import type { RemoteEndpoint } from "@awaken/contract/spec";
import type { Clock } from "@awaken/runtime";
import type { Addresses } from "./addresses.ts";
import type { EndpointOptions } from "./endpoint-options.ts";

/** How one agent is talked to. */
export interface Setup {
  readonly endpoint: RemoteEndpoint;
  readonly options: EndpointOptions;
  readonly addresses: Addresses;
  /** The longest answer. */
  readonly maxBytes: number;
  readonly clock: Clock;
}
