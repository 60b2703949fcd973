import { asItIsNow } from "@awaken/contract";
import { type CommitThread, isComposed, type QueuePorts, type StorePorts } from "@awaken/contract/store";

export type Ports = StorePorts & QueuePorts;

/** How one engine makes each port of a tenant. */
export type PortMakers<Access> = { readonly [Name in keyof Ports]: (access: Access) => Ports[Name] };

/** A write may stand in line, or wait for a connection: what was handed in is read as it was when it was. */
export const entry =
  <Given extends readonly unknown[], T>(write: (...given: Given) => T) =>
  (...given: Given): T =>
    write(...asItIsNow(given));

/** What the runtime's own writer composed is handed over, and stays as it is. */
const commitEntry =
  (commit: CommitThread): CommitThread =>
  (given) =>
    commit(isComposed(given) ? given : asItIsNow(given));

export function portsOf<Access>(make: PortMakers<Access>, access: Access): Ports {
  const threads = make.threads(access);
  const pending = make.pending(access);
  const events = make.events(access);
  const streamCheckpoints = make.streamCheckpoints(access);
  const wishes = make.wishes(access);
  const profiles = make.profiles(access);
  const config = make.config(access);
  return {
    threads: { ...threads, create: entry(threads.create), update: entry(threads.update) },
    messages: make.messages(access),
    runs: make.runs(access),
    pending: { ...pending, append: entry(pending.append), update: entry(pending.update), reorder: entry(pending.reorder) },
    events: { ...events, append: entry(events.append) },
    // Each engine puts the entries of its own around it (`worker-moves.ts`).
    dispatches: make.dispatches(access),
    streamCheckpoints: { ...streamCheckpoints, put: entry(streamCheckpoints.put) },
    ledger: make.ledger(access),
    wishes: { ...wishes, append: entry(wishes.append) },
    profiles: { ...profiles, put: entry(profiles.put) },
    config: { ...config, put: entry(config.put), delete: entry(config.delete) },
    commit: commitEntry(make.commit(access)),
  };
}
