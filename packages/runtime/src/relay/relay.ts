import type { ThreadId } from "@awaken/contract";
import type { ActiveRun, ActiveRuns, Found } from "../run/active-runs.ts";
import type { Bounds } from "../stream/bounds.ts";
import type { Clock } from "../stream/clock.ts";
import type { Ids } from "../stream/ids.ts";
import { Exchange } from "./exchange.ts";
import { boundRelayStore, type RelayStore } from "./relay-store.ts";

export interface RelayInit {
  readonly store: RelayStore;
  /** How long the store may take. */
  readonly bounds: Bounds;
  readonly active: ActiveRuns;
  readonly clock: Clock;
  readonly ids: Ids;
  /** Aborted when the runtime is closed. */
  readonly closing: AbortSignal;
}

/** What happens in the runs of one tenant, for whoever follows them here or elsewhere. */
export class Relay {
  readonly store: RelayStore;
  readonly clock: Clock;
  readonly closing: AbortSignal;
  /** What is said to and heard of other processes. */
  readonly exchange: Exchange;
  readonly #active: ActiveRuns;

  constructor({ store, bounds, active, clock, ids, closing }: RelayInit) {
    this.store = boundRelayStore(store, bounds);
    this.clock = clock;
    this.closing = closing;
    this.#active = active;
    this.exchange = new Exchange({ store: this.store, clock, ids, localRun: (threadId) => this.localRun(threadId) });
  }

  /** A run of this process, by its id or that of its thread. */
  find(id: string): Found {
    return this.#active.find(id);
  }

  /** A run of this process has taken the thread: whoever follows it hears it from its first word on. */
  began(threadId: ThreadId): void {
    this.exchange.began(threadId);
  }

  /** The run of this process on the thread, if there is one. */
  localRun(threadId: ThreadId): ActiveRun | undefined {
    return this.#active.onThread(threadId);
  }
}
