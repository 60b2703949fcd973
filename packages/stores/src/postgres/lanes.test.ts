import { runId, type ThreadId, threadId } from "@awaken/contract";
import type { QueueStore, ScopedQueueStore, ThreadCommit } from "@awaken/contract/store";
import pg from "pg";
import { afterAll, beforeAll, expect, test } from "vitest";
import { event, runs, user } from "../conformance/records.ts";
import type { PgClient } from "./driver.ts";
import { postgresStore } from "./store.ts";
import { codeOf } from "./test-pair.ts";
import { serverUrl } from "./test-server.ts";
import { freshTenant, openTestPeer, openTestStore, runSql, schemaOf, threadIds } from "./test-store.ts";

// What becomes of commits that wait for each other when one of them, or its connection, does not come to an end.

let peer: QueueStore;
beforeAll(async () => {
  peer = await openTestStore();
});
afterAll(() => peer.close());

/** The `at`th commit of a thread: one message, one event, its run. */
const step = (id: ThreadId, at: number): ThreadCommit => ({
  ...{ threadId: id, runId: runId(`run-${id}`), ...(at === 0 && { isNewRun: true, isNewThread: true }) },
  run: runs.running({ threadId: id, runId: runId(`run-${id}`), updatedAt: 2 + at }),
  messageDelta: { messages: [user(`${id}-m${at}`)], expectedMessageCount: at },
  events: [{ draft: { ...event(`e${at}`).draft, threadId: id, runId: runId(`run-${id}`) } }],
});

const logOf = async (own: ScopedQueueStore, id: ThreadId) => (await own.messages.list(id, {})).items.map(({ message }) => message.id);

interface Hooks {
  /** Instead of a connection. */
  connect?: () => Promise<never>;
  /** Instead of what is asked. */
  query?: (text: string, ask: () => Promise<unknown>, client: pg.PoolClient) => Promise<unknown>;
}

/** A store on a pool that does what a test wants of it. */
async function hooked(work: (store: QueueStore, hooks: Hooks) => Promise<void>, pipeline = false): Promise<void> {
  const pool = new pg.Pool({ connectionString: await serverUrl(), max: 6, pipeline });
  pool.on("error", () => {});
  const hooks: Hooks = {};
  const connect = async (): Promise<PgClient> => {
    await hooks.connect?.();
    const client = await pool.connect();
    const query: PgClient["query"] = async (asked) => {
      const text = typeof asked === "string" ? asked : asked.text;
      const ask = () => client.query(asked);
      await hooks.query?.(text, ask, client);
      return ask();
    };
    return new Proxy<PgClient>(client, {
      get(_, key) {
        if (key === "query") return query;
        const value: unknown = Reflect.get(client, key);
        return typeof value === "function" ? value.bind(client) : value;
      },
    });
  };
  const store = postgresStore({ connect, end: () => pool.end() }, { schema: schemaOf(peer) });
  await store.stats();
  try {
    await work(store, hooks);
  } finally {
    await store.close();
    await pool.end();
  }
}

const breakOff = (client: pg.PoolClient) => Reflect.get(Reflect.get(client, "connection"), "stream").destroy();

test("rows that somebody else has locked keep nobody waiting but those who write them, however many there are", async () => {
  const store = await openTestPeer(peer, { connections: 6 });
  const scope = freshTenant();
  const own = store.scoped(scope);
  const [one = threadId("none"), two = threadId("none"), ...others] = threadIds(6);
  for (const id of [one, two, ...others]) await own.commit(step(id, 0));
  const holder = new pg.Client(await serverUrl());
  await holder.connect();
  await holder.query("BEGIN");
  await holder.query(`SELECT 1 FROM ${schemaOf(peer)}.thread WHERE scope_id = $1 AND thread_id = ANY ($2::text[]) FOR UPDATE`, [
    scope,
    [one, two],
  ]);
  const locks = `SELECT count(*)::int AS n FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%${schemaOf(peer)}%'`;
  const waiting: Promise<unknown>[] = [];
  for (const id of [one, two]) {
    waiting.push(codeOf(own.commit(step(id, 1)).then(() => "landed")));
    await expect.poll(async () => Number((await runSql(locks))[0]?.["n"])).toBe(waiting.length);
  }
  for (const id of others) await own.commit(step(id, 1));
  await holder.query("ROLLBACK");
  await holder.end();
  expect(await Promise.all(waiting)).toEqual(["landed", "landed"]);
  for (const id of [one, two, ...others]) expect(await logOf(own, id)).toEqual([`${id}-m0`, `${id}-m1`]);
  await store.close();
});

test("who waited for a connection that there is not is told so with the others, not one group after the other", () =>
  hooked(async (store, hooks) => {
    const own = store.scoped(freshTenant());
    const asked = Promise.withResolvers<void>();
    const answer = Promise.withResolvers<never>();
    let count = 0;
    hooks.connect = () => {
      count++;
      asked.resolve();
      return answer.promise;
    };
    const waiting = threadIds(100).map((id) => codeOf(own.commit(step(id, 0))));
    await asked.promise;
    // One attempt for whoever came first, one for those who came while it was under way.
    answer.reject(new Error("nobody is there"));
    expect(await Promise.all(waiting)).toEqual(waiting.map(() => "storage_io"));
    expect(count).toBe(2);
    delete hooks.connect;
    await own.commit(step(threadId("later"), 0));
  }));

test("a group that was refused is not unknown for losing its connection afterwards", () =>
  hooked(async (store, hooks) => {
    const scope = freshTenant();
    const own = store.scoped(scope);
    const threads = threadIds(4);
    await Promise.all(threads.map((id) => own.commit(step(id, 0))));
    await peer.scoped(scope).commit(step(threadId("t2"), 1));
    let hasLost = false;
    hooks.query = async (text, ask, client) => {
      if (text !== "ROLLBACK" || hasLost) return;
      hasLost = true;
      const answer = ask();
      setImmediate(() => breakOff(client));
      await answer;
    };
    const outcomes = await Promise.all(threads.map((id) => codeOf(own.commit(step(id, 1)).then(() => "landed"))));
    expect(hasLost).toBe(true);
    expect(outcomes).toEqual(["landed", "landed", "message_version_conflict", "landed"]);
    for (const id of threads) expect(await logOf(own, id)).toEqual([`${id}-m0`, `${id}-m1`]);
  }, true));

test("what is to be told while a notice is lost with its connection is told", () =>
  hooked(async (store, hooks) => {
    const scope = freshTenant();
    const end = new AbortController();
    const heard = (async () => {
      for await (const hint of peer.queue.hints({ signal: end.signal })) if (hint.scopeId === scope) return hint;
      return undefined;
    })();
    // Until it listens, nothing reaches it.
    await expect
      .poll(
        async () =>
          (await runSql("SELECT count(*)::int AS n FROM pg_stat_activity WHERE query LIKE 'LISTEN awaken_' || $1", [schemaOf(peer)]))[0]?.[
            "n"
          ],
      )
      .toBe(1);
    const sending = Promise.withResolvers<void>();
    const lost = Promise.withResolvers<void>();
    hooks.query = async (text) => {
      if (!text.includes("pg_notify")) return;
      delete hooks.query;
      sending.resolve();
      await lost.promise;
      throw new Error("the connection is gone");
    };
    await store.scoped(freshTenant()).dispatches.hint({ type: "wake", threadId: threadId("lost"), runId: runId("r") });
    await sending.promise;
    await store.scoped(scope).dispatches.hint({ type: "wake", threadId: threadId("told"), runId: runId("r") });
    lost.resolve();
    expect(await heard).toMatchObject({ threadId: "told" });
    end.abort();
  }));
