import type { Log, Provider } from "@awaken/contract";
import type { PoolSpec } from "@awaken/contract/spec";
import type { Clock } from "../../stream/clock.ts";
import { Door, whenThere } from "../../stream/door.ts";
import type { BreakerPolicy } from "../circuit-breaker.ts";
import { BoundedMap } from "./bounded-map.ts";
import type { PoolInit } from "./create-pool.ts";
import type { PoolMember } from "./members.ts";

const MAX_POOLS = 1024;

export interface PoolDefinition {
  readonly spec: PoolSpec;
  /** In the order of the spec. `signature` changes whenever the member's provider is made of something else. */
  readonly members: readonly (PoolMember & { readonly signature: string })[];
}

export interface PoolCacheInit {
  readonly clock: Clock;
  readonly log: Log;
  readonly breakerPolicy?: Partial<BreakerPolicy>;
}

/** One for all runtimes of the process. */
export const pools = new Door(() => import("./create-pool.ts"));

/** Most programs have no pool, so what makes one work is loaded with the first request to one. */
function openPool(init: Omit<PoolInit, "breaker">, key: string, policy: PoolCacheInit["breakerPolicy"]): Provider {
  const door = new Door(() => whenThere(pools.open(), (room) => room.createPool({ ...init, breaker: room.breakerOf(key, policy) })));
  return {
    name: init.spec.id,
    canOverrideModel: false,
    stream(request, options) {
      const pool = door.open();
      return pool instanceof Promise ? pool.then((opened) => opened.stream(request, options)) : pool.stream(request, options);
    },
    observer: {
      drained: (request) => door.room?.observer?.drained(request),
      failed: (request, failure) => door.room?.observer?.failed(request, failure),
      hasMoved: (request) => door.room?.observer?.hasMoved?.(request) ?? false,
      servedBy: (request) => door.room?.observer?.servedBy?.(request),
    },
  };
}

/** Gives the same live pool for the same definition, so that conversations stay where they are from one resolution to the next. */
export class PoolCache {
  readonly #init: PoolCacheInit;
  readonly #pools = new BoundedMap<Provider>(MAX_POOLS);

  constructor(init: PoolCacheInit) {
    this.#init = init;
  }

  get({ spec, members }: PoolDefinition): Provider {
    const key = JSON.stringify([spec, members.map(({ model, upstream, signature }) => [model, upstream, signature])]);
    return this.#pools.getOrCreate(key, () => {
      const { clock, log, breakerPolicy } = this.#init;
      return openPool({ spec, members, clock, log }, key, breakerPolicy);
    });
  }
}
