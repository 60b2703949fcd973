import { runId, scopeId, threadId } from "@awaken/contract";
import type { Fence, QueueStore, ScopedQueueStore } from "@awaken/contract/store";
import pg from "pg";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { dispatch, runs, user } from "../conformance/records.ts";
import type { PgClient } from "./driver.ts";
import { postgresStore } from "./store.ts";
import { codeOf } from "./test-pair.ts";
import { startProxy } from "./test-proxy.ts";
import { serverUrl } from "./test-server.ts";
import { openTestStore, schemaOf } from "./test-store.ts";

// A process that stops sends nothing more, and what it holds at the server is held until somebody ends it.

let peer: QueueStore;
beforeAll(async () => {
  peer = await openTestStore();
});
afterAll(() => peer.close());

let tenants = 0;
const thread = threadId("t");
const CLAIM = { consumer: "node-1", leaseMs: 60_000 } as const;
const OTHER = { consumer: "node-2", leaseMs: 60_000 } as const;

/** What a store sends from the `after`th trip on waits until `go`. */
class Stop {
  readonly clients: pg.PoolClient[] = [];
  #trips = Number.POSITIVE_INFINITY;
  #stopped = Promise.withResolvers<void>();
  #go = Promise.withResolvers<void>();

  /** Settled when something would have been sent. */
  after(trips: number): Promise<void> {
    this.#trips = trips;
    this.#stopped = Promise.withResolvers<void>();
    this.#go = Promise.withResolvers<void>();
    return this.#stopped.promise;
  }

  go(): void {
    this.#trips = Number.POSITIVE_INFINITY;
    this.#go.resolve();
  }

  async connect(pool: pg.Pool): Promise<PgClient> {
    const client = await pool.connect();
    this.clients.push(client);
    const query: PgClient["query"] = async (asked) => {
      const text = typeof asked === "string" ? asked : asked.text;
      if (!text.includes("pg_notify") && this.#trips-- <= 0) {
        this.#stopped.resolve();
        await this.#go.promise;
      }
      return client.query(asked);
    };
    return new Proxy<PgClient>(client, {
      get(_, key) {
        if (key === "query") return query;
        const value: unknown = Reflect.get(client, key);
        return typeof value === "function" ? value.bind(client) : value;
      },
    });
  }
}

interface Stage {
  readonly store: ScopedQueueStore;
  readonly other: ScopedQueueStore;
  readonly stop: Stop;
}

/** A store that can be stopped, beside another one that cannot. */
async function play(work: (stage: Stage) => Promise<void>): Promise<void> {
  const pool = new pg.Pool({ connectionString: await serverUrl(), max: 3 });
  pool.on("error", () => {});
  const stop = new Stop();
  const store = postgresStore({ connect: () => stop.connect(pool), end: () => pool.end() }, { schema: schemaOf(peer) });
  const id = scopeId(`tenant-${++tenants}`);
  await store.stats();
  try {
    await work({ store: store.scoped(id), other: peer.scoped(id), stop });
  } finally {
    stop.go();
    await store.close();
    await pool.end();
  }
}

async function claimed(store: ScopedQueueStore): Promise<Fence> {
  await store.dispatches.enqueue(dispatch("d", { threadId: thread, runId: runId("r") }));
  const claim = await store.dispatches.claim(thread, CLAIM);
  if (claim === undefined) throw new Error("not claimed");
  return claim.dispatch;
}

type MoveOf = (store: ScopedQueueStore, fence: Fence) => Promise<unknown>;
const MOVES: readonly (readonly [name: string, move: MoveOf, whenLost: unknown])[] = [
  ["renews its lease", (store, fence) => store.dispatches.extendLease(fence, 60_000), undefined],
  ["records its start", (store, fence) => store.dispatches.recordStart(fence, "i"), "fence_lost"],
  ["acks", (store, fence) => store.dispatches.ack(fence), "fence_lost"],
  ["releases", (store, fence) => store.dispatches.release(fence), "fence_lost"],
  ["gives it up", (store, fence) => store.dispatches.deadLetter(fence, "no"), "fence_lost"],
  ["supersedes its own", (store, fence) => store.dispatches.supersedeClaimed(fence, "no"), undefined],
];

describe("an owner who stops while he", () => {
  test.each(MOVES)("%s keeps nobody from his thread, and has nothing when he goes on", (_, move, whenLost) =>
    play(async ({ store, other, stop }) => {
      const fence = await claimed(store);
      const hasStopped = stop.after(1);
      const moving = codeOf(move(store, fence));
      await hasStopped;
      // As when his lease is over: the row is somebody else's, in an epoch of its own.
      const { claimed: left } = await other.dispatches.interrupt(thread);
      expect(left).toMatchObject({ dispatchId: "d", claimedBy: "node-1" });
      await other.dispatches.supersedeClaimed(fence, "gone");
      await other.dispatches.enqueue(dispatch("next", { threadId: thread, runId: runId("r2") }));
      expect(await other.dispatches.claim(thread, OTHER)).toMatchObject({ dispatch: { dispatchId: "next" } });
      stop.go();
      expect(await moving).toEqual(whenLost);
      expect(await other.dispatches.list(thread, {})).toMatchObject([
        { dispatchId: "d", status: "superseded", lastError: "gone" },
        { dispatchId: "next", status: "claimed", claimedBy: "node-2" },
      ]);
    }),
  );

  test("renews, and was interrupted meanwhile, loses the row as if he had come later", () =>
    play(async ({ store, other, stop }) => {
      const fence = await claimed(store);
      const hasStopped = stop.after(1);
      const renewing = store.dispatches.extendLease(fence, 60_000);
      await hasStopped;
      await other.dispatches.interrupt(thread);
      stop.go();
      expect(await renewing).toBeUndefined();
      expect(await other.dispatches.load(fence.dispatchId)).toMatchObject({ status: "superseded" });
    }));

  test("renews, and whose row has changed but is still his, has his lease", () =>
    play(async ({ store, other, stop }) => {
      const fence = await claimed(store);
      const hasStopped = stop.after(1);
      const renewing = store.dispatches.extendLease(fence, 90_000);
      await hasStopped;
      await other.dispatches.recordStart(fence, "i");
      stop.go();
      expect(await renewing).toEqual({ hasWishes: false });
      expect(await other.dispatches.load(fence.dispatchId)).toMatchObject({ status: "claimed", echo: { instanceId: "i" } });
    }));
});

describe("who stops with threads in his hands", () => {
  test.concurrent("that he was claiming keeps others from them for seconds, and has claimed none", () =>
    play(async ({ store, other, stop }) => {
      const threads = Array.from({ length: 4 }, (_, index) => threadId(`t${index}`));
      for (const id of threads) await store.dispatches.enqueue(dispatch(`d-${id}`, { threadId: id, runId: runId(`r-${id}`) }));
      const hasStopped = stop.after(1);
      const claiming = threads.map((id) => store.dispatches.claim(id, CLAIM));
      await hasStopped;
      const claims = await Promise.all(threads.map((id) => other.dispatches.claim(id, OTHER)));
      expect(claims).toMatchObject(threads.map((id) => ({ dispatch: { dispatchId: `d-${id}`, claimedBy: "node-2" } })));
      stop.go();
      expect(await Promise.all(claiming)).toEqual(threads.map(() => undefined));
    }));

  test.concurrent("that he was adding to keeps others from it for seconds, and has added nothing", async () => {
    const proxy = await startProxy();
    const store = postgresStore(proxy.url, { schema: schemaOf(peer), connections: 2 });
    const id = scopeId(`tenant-${++tenants}`);
    await store.stats();
    const hasStopped = proxy.stopAfterLock();
    const adding = codeOf(store.scoped(id).dispatches.enqueue(dispatch("d", { threadId: thread })));
    await hasStopped;
    await peer.scoped(id).dispatches.enqueue(dispatch("other", { threadId: thread }));
    expect(await adding).toBe("storage_io");
    expect(await peer.scoped(id).dispatches.list(thread, {})).toMatchObject([{ dispatchId: "other" }]);
    await store.close();
    await proxy.close();
  });

  test("in a transaction of his own may take longer: it waits for what he waits for", () =>
    play(async ({ store, stop }) => {
      const limits = () =>
        Promise.all(stop.clients.map(async (client) => (await client.query("SHOW idle_in_transaction_session_timeout")).rows[0]));
      await store.transaction(async (ports) => {
        await ports.pending.append(thread, [{ message: user("p"), deliveryMode: { boundary: "new-run" } }]);
        await ports.dispatches.enqueue(dispatch("d", { threadId: thread, runId: runs.created().runId }));
        await ports.dispatches.claim(thread, CLAIM);
        expect(await limits()).toContainEqual({ idle_in_transaction_session_timeout: "1min" });
      });
    }));
});
