import { type ErrorCode, threadId } from "@awaken/contract";
import pg from "pg";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { append, event, T1, user } from "../conformance/records.ts";
import { take } from "../conformance/world.ts";
import { postgresStore } from "./store.ts";
import { startProxy } from "./test-proxy.ts";
import { serverUrl } from "./test-server.ts";
import { dropSchema, freshSchema, runSql } from "./test-store.ts";

const failing = (code: ErrorCode) => expect.objectContaining({ code });

let schema: string;
beforeEach(() => {
  schema = freshSchema();
});
afterEach(() => dropSchema(schema));

const open = async () => postgresStore(`${await serverUrl()}?application_name=${schema}`, { schema, connections: 3 });

/** Ends the connections of the store as a server that restarts does. */
const endConnections = () =>
  runSql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = $1 AND pid <> pg_backend_pid()", [schema]);

test.each([
  { connections: 0 },
  { connections: -1 },
  { connectTimeoutMs: -5 },
  { connectTimeoutMs: Number.NaN },
  { prepare: JSON.parse('"no"') },
  { listenUrl: " " },
  { cacheBytes: -1 },
  JSON.parse('{ "prepared": false }'),
])("options that cannot be are refused before anybody connects: %o", (options) => {
  expect(() => postgresStore("postgres://nobody.invalid/none", options)).toThrow(failing("storage_validation"));
});

describe("connections that are lost", () => {
  test("while they are idle are replaced, and at most a call fails", async () => {
    await using store = await open();
    await store.commit(append(0, [user("m1")]));
    await endConnections();
    await store.messages.count(T1).catch((thrown: unknown) => expect(thrown).toEqual(failing("storage_io")));
    await expect.poll(() => store.messages.count(T1).catch(() => undefined)).toBe(1);
    await store.commit(append(1, [user("m2")]));
  });

  test("in a transaction: storage_io, nothing of it stays, and the store goes on", async () => {
    await using store = await open();
    const inside = store.transaction(async (ports) => {
      await ports.threads.create({ id: T1 });
      await endConnections();
      await ports.threads.create({ id: threadId("t2") });
    });
    await expect(inside).rejects.toEqual(failing("storage_io"));
    await expect.poll(() => store.threads.count({}).catch(() => undefined)).toBe(0);
  });

  test("a transaction whose work takes no notice of it is not reported as kept", async () => {
    await using store = await open();
    const inside = store.transaction(async (ports) => {
      await ports.threads.create({ id: T1 });
      await endConnections();
      await ports.threads.create({ id: threadId("t2") }).catch(() => {});
    });
    await expect(inside).rejects.toEqual(failing("storage_io"));
  });

  test("a server that is not there is storage_io", async () => {
    await using store = postgresStore("postgres://nobody:x@127.0.0.1:1/none", { connectTimeoutMs: 500 });
    await expect(store.threads.load(T1)).rejects.toEqual(failing("storage_io"));
    await expect(store.commit(append(0, [user("m1")]))).rejects.toEqual(failing("storage_io"));
    await expect(store.transaction(async () => 1)).rejects.toEqual(failing("storage_io"));
  });

  test("a listener that lost its connection listens again, and misses no event", async () => {
    await using store = await open();
    await using peer = postgresStore(await serverUrl(), { schema });
    const events = await store.events.subscribe(
      { type: "thread", threadId: T1 },
      { type: "start" },
      { signal: AbortSignal.timeout(120_000) },
    );
    const reading = take(events, 2);
    await peer.events.append([event("first")]);
    await new Promise((resolve) => setTimeout(resolve, 100));
    await endConnections();
    await peer.events.append([event("second")]);
    expect((await reading.catch(async () => take(events, 2))).map(({ kind }) => kind)).toEqual(["first", "second"]);
  });
});

describe("an answer to COMMIT that is lost", () => {
  test("is commit_unknown, and the commit may be there", async () => {
    const proxy = await startProxy();
    const store = postgresStore(proxy.url, { schema, connections: 3 });
    await store.commit(append(0, [user("m1")]));
    proxy.loseAnswerToCommit();
    await expect(store.commit(append(1, [user("m2")]))).rejects.toEqual(failing("commit_unknown"));
    await expect.poll(() => store.messages.count(T1).catch(() => undefined)).toBe(2);
    await store.close();
    await proxy.close();
  });

  test("is commit_unknown too when the COMMIT itself was lost", async () => {
    const proxy = await startProxy();
    const store = postgresStore(proxy.url, { schema, connections: 3 });
    await store.commit(append(0, [user("m1")]));
    proxy.loseCommit();
    await expect(store.commit(append(1, [user("m2")]))).rejects.toEqual(failing("commit_unknown"));
    await expect.poll(() => store.messages.count(T1).catch(() => undefined)).toBe(1);
    proxy.loseCommit();
    await expect(store.transaction(async (ports) => ports.commit(append(1, [user("m2")])))).rejects.toEqual(failing("commit_unknown"));
    await expect.poll(() => store.messages.count(T1).catch(() => undefined)).toBe(1);
    await store.close();
    await proxy.close();
  });
});

describe("a pool of the host", () => {
  test.each([false, true])("is used as it is, and stays open (pipeline: %s)", async (pipeline) => {
    const pool = new pg.Pool({ connectionString: await serverUrl(), max: 4, pipeline });
    const store = postgresStore(pool, { schema });
    await Promise.all(
      Array.from({ length: 12 }, (_, index) => store.commit({ ...append(0, [user("m1")]), threadId: threadId(`n${index}`) })),
    );
    await expect(store.commit(append(1, [user("m1")]))).rejects.toEqual(failing("message_version_conflict"));
    expect(await store.transaction(async (ports) => (await ports.commit(append(0, [user("m1")]))).messageCount)).toBe(1);
    expect((await store.threads.list({})).items).toHaveLength(13);
    await store.close();
    expect((await pool.query("SELECT 1 AS one")).rows).toEqual([{ one: 1 }]);
    await pool.end();
  });
});
