import type { QueueStore } from "@awaken/contract/store";
import type { FakeClock } from "../testing/fake-clock.ts";

const PORTS: ReadonlySet<string> = new Set([
  ...["threads", "messages", "runs", "events", "streamCheckpoints", "ledger", "wishes", "profiles", "config"],
  ...["pending", "dispatches", "queue"],
]);
const CALLS: ReadonlySet<string> = new Set(["commit", "transaction", "sweep"]);

/** How long a request is on its way to the store, and its answer back. */
export interface Way {
  readonly there: number;
  readonly back: number;
}

export interface Lateness {
  /** The same store, of which every answer comes late by this clock. A transaction is one answer. */
  wrap(store: QueueStore, wayOf: (call: string) => Way): QueueStore;
  /** Lets time go on by so much. */
  pass(ms: number): Promise<void>;
  /** How many requests were or are slow. */
  readonly count: number;
}

/** A slow network. Nobody really waits: time goes on while something is on its way and no store is at work, and stands still otherwise. */
export function lateness(clock: FakeClock): Lateness {
  let [count, held, atWork] = [0, 0, 0];
  let isPumping = false;
  let rested = () => {};
  const pump = async () => {
    isPumping = true;
    while (held > 0) {
      if (atWork > 0) await new Promise<void>((resolve) => (rested = resolve));
      else await clock.runAll(1);
    }
    isPumping = false;
  };
  const travel = async (ms: number) => {
    held += 1;
    const there = new Promise<void>((resolve) => void clock.timer(ms, resolve));
    if (!isPumping) void pump();
    await there;
    held -= 1;
  };
  const call = async ({ there, back }: Way, work: () => Promise<unknown>) => {
    if (there + back > 0) count += 1;
    if (there > 0) await travel(there);
    atWork += 1;
    try {
      return await work();
    } finally {
      atWork -= 1;
      if (atWork === 0) rested();
      if (back > 0) await travel(back);
    }
  };
  const wrap = <T extends object>(port: T, wayOf: (call: string) => Way, isRoot: boolean): T =>
    new Proxy(port, {
      get(target, name, receiver) {
        const value: unknown = Reflect.get(target, name, receiver);
        if (typeof name !== "string") return value;
        if (isRoot && PORTS.has(name) && typeof value === "object" && value !== null) return wrap(value, wayOf, false);
        if (typeof value !== "function" || name === "hints" || (isRoot && !CALLS.has(name))) return value;
        return (...args: unknown[]) => call(wayOf(name), async () => Reflect.apply(value, target, args));
      },
    });
  return {
    wrap: (store, wayOf) => wrap(store, wayOf, true),
    pass: travel,
    get count() {
      return count;
    },
  };
}
