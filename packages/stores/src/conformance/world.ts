import {
  AwakenError,
  type DispatchId,
  type ErrorCode,
  type EventId,
  type JsonObject,
  type MessageId,
  type RunId,
  type ThreadId,
} from "@awaken/contract";
import type { ProfileOwner, QueueStore, Store } from "@awaken/contract/store";
import { expect, test } from "vitest";

/** A stored row, for damage. */
export type StoredRow =
  | { readonly type: "thread"; readonly threadId: ThreadId }
  | { readonly type: "thread-state"; readonly threadId: ThreadId }
  | { readonly type: "message"; readonly threadId: ThreadId; readonly seq: number }
  | { readonly type: "pending"; readonly threadId: ThreadId; readonly pendingId: MessageId }
  | { readonly type: "run"; readonly runId: RunId }
  | { readonly type: "dispatch"; readonly dispatchId: DispatchId }
  | { readonly type: "event"; readonly eventId: EventId }
  | { readonly type: "ledger"; readonly idempotencyKey: string }
  | { readonly type: "wish"; readonly wishId: string }
  | { readonly type: "stream-checkpoint"; readonly runId: RunId; readonly step: number }
  | { readonly type: "profile"; readonly owner: ProfileOwner; readonly key: string }
  | { readonly type: "config"; readonly namespace: string; readonly id: string };

/** What an engine can do beyond the ports. Tests that need an optional hook which is not given are skipped. */
export interface ConformanceHooks<S extends Store = Store> {
  /**
   * Closes the store as a process that ends does, and opens the same data anew; the suite closes what it gives. `never` says that the
   * store is not durable, and that nobody may take it for one that is.
   */
  readonly reopen: ((store: S, clock: () => number) => Promise<S> | S) | "never";
  /** Writes these top-level fields into the stored record of the default tenant, behind the back of the store, without any check. */
  corrupt?(store: S, row: StoredRow, fields: JsonObject): Promise<void> | void;
  /** The same data, opened once more as another process would; the suite closes it before the first one. */
  openPeer?(store: S, clock: () => number): Promise<S> | S;
  /** Whether hints and config changes of a peer arrive. They are best effort, so an engine without a way to push may leave them out. */
  readonly hearsPeers?: boolean;
}

export interface Setup<S extends Store> {
  /** Gives an empty store that takes its times from `clock`. The suite closes it. */
  readonly open: (clock: () => number) => Promise<S> | S;
  readonly hooks: ConformanceHooks<S>;
}

/** Time stands still until a test moves it. */
export interface TestClock {
  now(): number;
  advance(ms: number): void;
}

export interface World<S extends Store = Store> {
  readonly store: S;
  readonly clock: TestClock;
  /** Another handle on the same data; the same one when the engine has no second door. */
  readonly peer: S;
}

export type StoreTest<S extends Store = Store> = (title: string, work: (world: World<S>) => Promise<void>, timeoutMs?: number) => void;
export type QueueTest = StoreTest<QueueStore>;
export type QueueWorld = World<QueueStore>;

const START = 1_700_000_000_000;

export function testClock(): TestClock {
  let now = START;
  return {
    now: () => now,
    advance(ms) {
      now += ms;
    },
  };
}

/** A test with a store of its own. */
export const storeTest =
  <S extends Store>({ open, hooks }: Setup<S>): StoreTest<S> =>
  (title, work, timeoutMs = 120_000) => {
    test(title, { timeout: timeoutMs }, async () => {
      const clock = testClock();
      const store = await open(clock.now);
      let peer = store;
      try {
        if (hooks.openPeer !== undefined) peer = await hooks.openPeer(store, clock.now);
        await work({ store, clock, peer });
      } finally {
        if (peer !== store) await peer.close();
        await store.close();
      }
    });
  };

/** The error that the work has to fail with. */
export async function failure(work: Promise<unknown>, code: ErrorCode): Promise<AwakenError> {
  const thrown = await work.then(
    () => undefined,
    (error: unknown) => error,
  );
  if (!AwakenError.is(thrown)) expect.fail(`expected ${code}, got ${thrown === undefined ? "no error" : String(thrown)}`);
  expect(thrown.code, thrown.message).toBe(code);
  return thrown;
}

/** Reads `count` items and leaves. */
export async function take<T>(source: AsyncIterable<T>, count: number): Promise<readonly T[]> {
  const items: T[] = [];
  if (count === 0) return items;
  for await (const item of source) if (items.push(item) >= count) break;
  return items;
}

/** Tries to change an object that a store gave or was given; frozen ones stay as they are. */
export function vandalise(value: unknown): void {
  if (typeof value !== "object" || value === null) return;
  for (const key of Object.keys(value)) {
    vandalise(Reflect.get(value, key));
    Reflect.set(value, key, "vandalised");
  }
  Reflect.set(value, "vandal", true);
}
