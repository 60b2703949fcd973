import type { ThreadId } from "@awaken/contract";
import type { ActiveRun, ActiveRuns, Found } from "../run/active-runs.ts";
import type { Clock } from "../stream/clock.ts";
import { Door, type Late, whenThere } from "../stream/door.ts";
import type { Ids } from "../stream/ids.ts";
import type { Exchange, ExchangeInit } from "./exchange.ts";
import type { RelayStore } from "./relay-store.ts";

export interface RelayInit {
  readonly store: RelayStore;
  readonly active: ActiveRuns;
  readonly clock: Clock;
  readonly ids: Ids;
  /** Aborted when the runtime is closed. */
  readonly closing: AbortSignal;
  /** Loaded when it is first needed. */
  readonly openExchange: (init: ExchangeInit) => Late<Exchange>;
  /** A reader waits for what happens on the thread, until what this gives is called. */
  readonly expect: (threadId: ThreadId) => (() => void) | undefined;
}

/** What happens in the runs of one tenant, for whoever follows them here or elsewhere. */
export class Relay {
  readonly store: RelayStore;
  readonly clock: Clock;
  readonly closing: AbortSignal;
  readonly expect: RelayInit["expect"];
  readonly #init: RelayInit;
  readonly #exchange: Door<Exchange>;
  #users = 0;
  #leave: (() => void) | undefined;

  constructor(init: RelayInit) {
    this.#init = init;
    this.store = init.store;
    this.clock = init.clock;
    this.closing = init.closing;
    this.expect = init.expect;
    const { store, clock, ids } = init;
    const localRun = (threadId: ThreadId) => this.localRun(threadId);
    this.#exchange = new Door(() => init.openExchange({ store, clock, ids, localRun }));
  }

  /** Hears of others what they ask and tell, as long as there is a run or a reader of this tenant here. */
  enter(): void {
    this.#users += 1;
    this.#leave ??= this.store.live?.listen(({ threadId, body }) => {
      const heard = whenThere(this.#exchange.open(), (exchange) => exchange.receive(threadId, body));
      // Whoever asked asks again.
      if (heard instanceof Promise) heard.catch(() => {});
    });
  }

  /** True when nobody is left. */
  exit(): boolean {
    this.#users -= 1;
    if (this.#users > 0) return false;
    this.#leave?.();
    this.#leave = undefined;
    return true;
  }

  /** What is said to and heard of other processes. */
  exchange(): Late<Exchange> {
    return this.#exchange.open();
  }

  /** A run of this process, by its id or that of its thread. */
  find(id: string): Found {
    return this.#init.active.find(id);
  }

  /** The run of this process on the thread, if there is one. */
  localRun(threadId: ThreadId): ActiveRun | undefined {
    return this.#init.active.onThread(threadId);
  }
}
