import type { QueuePorts, StorePorts } from "@awaken/contract/store";

export type Ports = StorePorts & QueuePorts;

/** How one engine makes each port of a tenant. */
export type PortMakers<Access> = { readonly [Name in keyof Ports]: (access: Access) => Ports[Name] };

export const portsOf = <Access>(make: PortMakers<Access>, access: Access): Ports => ({
  threads: make.threads(access),
  messages: make.messages(access),
  runs: make.runs(access),
  pending: make.pending(access),
  events: make.events(access),
  dispatches: make.dispatches(access),
  streamCheckpoints: make.streamCheckpoints(access),
  ledger: make.ledger(access),
  wishes: make.wishes(access),
  profiles: make.profiles(access),
  config: make.config(access),
  commit: make.commit(access),
});
