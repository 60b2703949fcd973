import { AwakenError, type ScopeId, type ThreadId } from "@awaken/contract";
import type { ActiveRuns } from "../run/active-runs.ts";
import type { Clock } from "../stream/clock.ts";
import { type Late, whenThere } from "../stream/door.ts";
import type { Ids } from "../stream/ids.ts";
import type { Exchange, ExchangeInit } from "./exchange.ts";
import { Relay } from "./relay.ts";
import { following } from "./relay-door.ts";
import type { RelayStore } from "./relay-store.ts";

export interface RelaysInit {
  /** Undefined: nothing is kept that somebody could follow. */
  readonly storeOf: (scopeId: ScopeId) => RelayStore | undefined;
  /** Of all tenants. */
  readonly active: ActiveRuns;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly closing: AbortSignal;
  /** Whoever reads may have the place that the run needs: it is taken up beside it, until what this gives is called. */
  readonly expectIn: (scopeId: ScopeId) => (threadId: ThreadId) => (() => void) | undefined;
}

const openExchange = (init: ExchangeInit): Late<Exchange> => whenThere(following.open(), (room) => new room.Exchange(init));

/** The relays of the tenants that have a run or a reader here; there is nothing in it for any other one. */
export class Relays {
  readonly #init: RelaysInit;
  readonly #relays = new Map<ScopeId, Relay>();
  /** Of all readers; one listener on the signal is enough for them. */
  readonly #rings = new Set<() => void>();
  #isListening = false;

  constructor(init: RelaysInit) {
    this.#init = init;
    init.active.tell({
      began: (scopeId) => this.#enter(scopeId),
      ended: (scopeId) => this.exit(scopeId),
    });
  }

  /** For a reader, which leaves with `exit`. */
  enter(scopeId: ScopeId): Relay {
    const relay = this.#enter(scopeId);
    if (relay !== undefined) return relay;
    throw new AwakenError("capability_mismatch", "there is nothing to attach to: the runtime has no store, or one that keeps no events");
  }

  /** A reader waits for what happens there. */
  expect(scopeId: ScopeId, threadId: ThreadId): (() => void) | undefined {
    return this.#relays.get(scopeId)?.expect(threadId);
  }

  exit(scopeId: ScopeId): void {
    if (this.#relays.get(scopeId)?.exit() === true) this.#relays.delete(scopeId);
  }

  /** Calls back when the runtime is closed, until it is told not to. */
  readonly onClosing = (ring: () => void): (() => void) => {
    if (!this.#isListening) this.#init.closing.addEventListener("abort", () => this.#rings.forEach((each) => void each()), { once: true });
    this.#isListening = true;
    this.#rings.add(ring);
    return () => void this.#rings.delete(ring);
  };

  #enter(scopeId: ScopeId): Relay | undefined {
    const relay = this.#relays.get(scopeId) ?? this.#open(scopeId);
    relay?.enter();
    return relay;
  }

  #open(scopeId: ScopeId): Relay | undefined {
    const { storeOf, active, clock, ids, closing, expectIn } = this.#init;
    const store = storeOf(scopeId);
    if (store === undefined) return undefined;
    const relay = new Relay({ store, active: active.scoped(scopeId), clock, ids, closing, openExchange, expect: expectIn(scopeId) });
    this.#relays.set(scopeId, relay);
    return relay;
  }
}
