import { hasQueue, type QueuePorts, type Store } from "@awaken/contract/store";
import { CliError } from "./cli-error.ts";

/** What waits is in the queue of the store; one that has none keeps nothing waiting. */
export function withQueue(store: Store, label: string): Store & QueuePorts {
  if (hasQueue(store)) return store;
  throw new CliError("capability_mismatch", `${label} has no queue: its runs live in the process that started them`);
}
