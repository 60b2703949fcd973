import { dispatchId, threadId } from "@awaken/contract";
import type { QueueStore } from "@awaken/contract/store";
import pg from "pg";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { fenceOf } from "../conformance/dispatches.ts";
import { append, dispatch, event, R1, runs, T1, T2, user, WORKER } from "../conformance/records.ts";
import { failure, take } from "../conformance/world.ts";
import { type PostgresStoreOptions, postgresStore } from "./store.ts";
import { type Pooler, startPooler } from "./test-pooler.ts";
import { serverUrl } from "./test-server.ts";
import { dropSchema, freshSchema } from "./test-store.ts";

let schema: string;
let pooler: Pooler;
beforeEach(async () => {
  schema = freshSchema();
  pooler = await startPooler();
});
afterEach(async () => {
  await pooler.close();
  await dropSchema(schema);
});

const open = (options: PostgresStoreOptions = {}) => postgresStore(pooler.url, { schema, connections: 4, prepare: false, ...options });

/** As it was when it logged in, and nothing of any client. */
const CLEAN = ["0", "0", "0", "0", "0", "read committed"];

async function workOn(store: QueueStore): Promise<void> {
  await Promise.all(
    Array.from({ length: 12 }, async (_, index) => {
      const id = threadId(`many-${index}`);
      await store.commit({ ...append(0, [user("m1"), user("m2")]), threadId: id });
      await store.dispatches.enqueue(dispatch(`d${index}`, { threadId: id }));
      const row = (await store.dispatches.claim(id, WORKER))?.dispatch ?? expect.fail("nothing to claim");
      await store.dispatches.ack(fenceOf(row));
      expect(await store.messages.count(id)).toBe(2);
    }),
  );
  await store.commit(append(0, [user("m1")], { run: runs.running(), events: [event("one"), event("two")] }));
  await failure(store.commit(append(0, [user("m2")])), "message_version_conflict");
  await store.transaction(async (ports) => {
    await ports.threads.create({ id: threadId("inside") });
    await ports.dispatches.enqueue(dispatch("inside", { threadId: threadId("inside") }));
  });
  const rolledBack = store.transaction(async (ports) => {
    await ports.threads.create({ id: threadId("never") });
    throw new Error("changed my mind");
  });
  await expect(rolledBack).rejects.toThrow("changed my mind");
}

describe("behind a pooler that hands each transaction to another connection", () => {
  test("everything works, and no connection keeps anything: no statement, no setting, no lock, no channel", async () => {
    await using store = open({ listenUrl: await serverUrl() });
    await workOn(store);
    expect(await store.threads.load(threadId("inside"))).toBeDefined();
    expect(await store.threads.load(threadId("never"))).toBeUndefined();
    expect((await store.events.list({ type: "thread", threadId: T1 }, {})).items.map(({ kind }) => kind)).toContain("two");
    expect(await store.runs.load(R1)).toMatchObject({ status: "running" });
    expect(await store.dispatches.countByStatus()).toMatchObject({ acked: 12, queued: 1, claimed: 0 });
    expect(pooler.transactions).toBeGreaterThan(60);
    expect(pooler.used).toBe(4);
    expect(pooler.named).toEqual([]);
    const left = await pooler.leftovers();
    expect(left).toEqual(Array.from({ length: 4 }, () => CLEAN));
  });

  test("a pool that is handed in works the same way", async () => {
    const pool = new pg.Pool({ connectionString: pooler.url, max: 3 });
    pool.on("error", () => {});
    await using store = postgresStore(pool, { schema, prepare: false });
    await workOn(store);
    expect(pooler.named).toEqual([]);
    expect(await pooler.leftovers()).toEqual(Array.from({ length: 4 }, () => CLEAN));
    await store.close();
    await pool.end();
  });

  test("with `listenUrl` hints and events of other processes arrive", async () => {
    const listenUrl = await serverUrl();
    await using store = open({ listenUrl });
    await using peer = open({ listenUrl });
    expect(store.live).toBeDefined();
    await store.threads.create({ id: T1 });
    const leave = new AbortController();
    const hints = take(store.queue.hints({ signal: leave.signal }), 1);
    const { promise: woken, resolve: wake } = Promise.withResolvers<void>();
    const unfollow = store.live?.follow({ type: "thread", threadId: T1 }, wake);
    // Until it listens.
    await expect
      .poll(async () => {
        await peer.dispatches.enqueue(dispatch(`d${performance.now()}`, { threadId: T2 }));
        return Promise.race([hints, new Promise((resolve) => setTimeout(resolve, 50))]);
      })
      .toEqual([{ type: "enqueued", scopeId: "default", threadId: T2 }]);
    await peer.commit(append(0, [user("m1")], { run: runs.running(), events: [event("one")] }));
    await woken;
    unfollow?.();
    leave.abort();
    expect(await pooler.leftovers()).toEqual(Array.from({ length: 4 }, () => CLEAN));
  });

  test("without it nobody listens: there is no live port, and whoever subscribes looks by himself", async () => {
    await using store = open();
    await using peer = open();
    expect(store.live).toBeUndefined();
    expect(store.scoped(store.scopeId).live).toBeUndefined();
    await store.threads.create({ id: T1 });
    const leave = new AbortController();
    const events = await store.events.subscribe({ type: "thread", threadId: T1 }, { type: "now" }, { signal: leave.signal });
    const seen = take(events, 1);
    const hints = take(store.queue.hints({ signal: leave.signal }), 1);
    await peer.commit(append(0, [], { run: runs.running(), events: [event("one")] }));
    expect((await seen)[0]).toMatchObject({ kind: "one" });
    await store.dispatches.enqueue(dispatch("own"));
    expect(await hints).toHaveLength(1);
    leave.abort();
    expect(await pooler.leftovers()).toEqual(Array.from({ length: 4 }, () => CLEAN));
  });

  test("the pooler is one: a store that prepares its statements does not get far behind it", async () => {
    await using store = open({ prepare: true });
    const outcome = await workOn(store).then(
      () => "worked",
      () => "failed",
    );
    const left = await pooler.leftovers();
    expect(pooler.named.length).toBeGreaterThan(0);
    expect([outcome, left.every((row) => JSON.stringify(row) === JSON.stringify(CLEAN))]).toEqual(["failed", false]);
    expect(await postgresStore(await serverUrl(), { schema }).dispatches.load(dispatchId("inside"))).toBeUndefined();
  });
});
