import { AsyncLocalStorage } from "node:async_hooks";
import type { QueueStore } from "@awaken/contract/store";
import { createRuntime, type Runtime } from "@awaken/runtime";
import { AGENTS, crewInit, WITHOUT_GUEST, type World } from "./crew.ts";
import { heldStore, type Trouble } from "./held-store.ts";
import { Lane, type Scheduler } from "./scheduler.ts";

/** A process, as far as the store can tell. */
export interface Node {
  readonly name: string;
  readonly lane: Lane;
  readonly runtime: Runtime;
  /** As this process sees it. */
  readonly store: QueueStore;
}

export interface FleetInit {
  readonly scheduler: Scheduler;
  /** One for each place; in memory it is the same. */
  readonly stores: readonly [QueueStore, ...QueueStore[]];
  readonly world: World;
  readonly trouble: Trouble;
  readonly say: (line: string) => void;
}

const LEASE_MS = 3_000;

/** Processes over one store, which are closed, or killed, and followed by others. */
export class Fleet {
  readonly #init: FleetInit;
  readonly #nodes: Node[] = [];
  readonly #gone = new Set<string>();
  readonly #killed: string[] = [];
  readonly #ids: () => string;
  #lives = 0;

  constructor(init: FleetInit) {
    this.#init = init;
    let count = 0;
    // Of all processes together, and in the order in which they were made.
    this.#ids = () => `id-${String(++count).padStart(6, "0")}`;
    for (const at of init.stores.keys()) this.#open(at);
  }

  get nodes(): readonly Node[] {
    return this.#nodes;
  }

  any(): Node {
    const node = this.#nodes[this.#init.scheduler.numbers.below(this.#nodes.length)];
    if (node === undefined) throw new Error("there is no node");
    return node;
  }

  /** Another one has its place at once; what this gives is how the old one goes. */
  replace(): { readonly old: Node; readonly close: () => Promise<void> } {
    const { numbers } = this.#init.scheduler;
    const at = numbers.below(this.#nodes.length);
    const old = this.#nodes[at] ?? this.any();
    this.#open(at);
    const options = numbers.below(2) === 0 ? { handOver: true, graceMs: numbers.below(50) } : {};
    const close = async () => {
      await old.runtime.close(options);
      this.#gone.add(old.name);
    };
    return { old, close };
  }

  /** Without a word. Now and then nobody knows that it is gone, until its leases are over. */
  kill(): Node {
    const { numbers } = this.#init.scheduler;
    const at = numbers.below(this.#nodes.length);
    const old = this.#nodes[at] ?? this.any();
    old.lane.end();
    this.#killed.push(old.name);
    if (numbers.below(2) === 0) this.#gone.add(old.name);
    this.#open(at);
    return old;
  }

  /** An agent is not there for a while, in one process. */
  sendGuestAway(): void {
    const { runtime, lane } = this.any();
    if (runtime.registry.snapshot().registries.agents.get("guest") === undefined) return;
    runtime.registry.update((draft) => {
      Object.assign(draft.agents, WITHOUT_GUEST);
      delete draft.agents["guest"];
    });
    void lane.sleep(300).then(() => this.#welcome(runtime));
  }

  /** Everybody knows who is gone, and the guest is back. */
  mend(): void {
    for (const name of this.#killed) this.#gone.add(name);
    for (const { runtime } of this.#nodes) this.#welcome(runtime);
  }

  #welcome(runtime: Runtime): void {
    runtime.registry.update((draft) => {
      Object.assign(draft.agents, AGENTS);
    });
  }

  #open(at: number): void {
    const { scheduler, stores, world, trouble, say } = this.#init;
    const name = `n${at}-${this.#lives++}`;
    const lane = new Lane(scheduler, name);
    const store = heldStore(stores[at] ?? stores[0], lane, trouble);
    const tell = (level: string) => (message: string, details?: object) =>
      say(`@${scheduler.elapsedMs} ${name} ${level} ${message} ${JSON.stringify(details ?? {})}`);
    const runtime = createRuntime({
      ...crewInit(world, lane),
      ...{
        store,
        clock: lane.clock,
        ids: this.#ids,
        workers: true,
        leaseMs: LEASE_MS,
        maxAttempts: 1_000,
        concurrency: 4,
        cancelGraceMs: 300,
      },
      log: { warn: tell("warn"), error: tell("error") },
      node: { name, isGone: (other) => this.#gone.has(other), trail: new AsyncLocalStorage<object>() },
    });
    this.#nodes[at] = { name, lane, runtime, store };
  }
}
