import { dispatchId, type ErrorCode, runId, scopeId, threadId } from "@awaken/contract";
import { userRecord } from "@awaken/contract/spec";
import { profileOwner, type QueueStore } from "@awaken/contract/store";
import pg from "pg";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { append, claim, dispatch, event, R1, runs, T1, T2, user } from "../conformance/records.ts";
import { take } from "../conformance/world.ts";
import { serverUrl } from "./test-server.ts";
import { openTestPeer, openTestStore, runSql, schemaOf } from "./test-store.ts";

const failing = (code: ErrorCode) => expect.objectContaining({ code });

let store: QueueStore;
let peer: QueueStore;
beforeEach(async () => {
  store = await openTestStore();
  peer = await openTestPeer(store);
});
afterEach(async () => {
  vi.useRealTimers();
  await peer.close();
  await store.close();
});

/** Server processes that hear what is told on the schema of the test. */
const listeners = async (): Promise<readonly unknown[]> =>
  (await runSql("SELECT pid FROM pg_stat_activity WHERE state = 'idle' AND query LIKE $1", [`LISTEN %${schemaOf(store)}%`])).map(
    ({ pid }) => pid,
  );

/** Does what lets a store listen, and waits until it does: what is told before goes past it. */
async function whenListening<T>(begin: () => T): Promise<Awaited<T>> {
  // One of a test before may be leaving.
  const before = await listeners();
  const begun = begin();
  for (let now = before; now.every((pid) => before.includes(pid)); ) now = await listeners();
  return await begun;
}

const soon = () => ({ signal: AbortSignal.timeout(120_000) });

describe("between nodes", () => {
  test("events are told to followers, who do not have to look, and each node's own too", async () => {
    vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
    await using follower = await openTestPeer(store, { connections: 2 });
    const events = await whenListening(() => follower.events.subscribe({ type: "run", runId: R1 }, { type: "now" }, soon()));
    const reading = events[Symbol.asyncIterator]();
    const next = async () => (await reading.next()).value?.kind;
    const first = next();
    await peer.events.append([event("a")]);
    expect(await first).toBe("a");
    const second = next();
    await follower.events.append([event("b")]);
    expect(await second).toBe("b");
    const third = next();
    await peer.commit({ threadId: T1, runId: R1, events: [event("c")] });
    expect(await third).toBe("c");
    await reading.return?.();
  });

  test("what a node remembers of its own commits is not believed when another one has been there since", async () => {
    await store.commit(append(0, [user("m1")], { run: runs.running({ updatedAt: 2 }) }));
    await peer.commit(append(1, [user("m2")], { run: runs.done({ updatedAt: 3 }) }));
    await expect(store.commit({ threadId: T1, runId: R1, run: runs.running({ updatedAt: 4 }) })).rejects.toEqual(
      failing("illegal_transition"),
    );
    await expect(store.commit(append(1, [user("m3")]))).rejects.toEqual(failing("message_version_conflict"));
    expect((await store.commit(append(2, [user("m3")]))).messageCount).toBe(3);
  });

  test("a transaction that somebody else overtakes is a version_conflict, nothing of it stays, and the next try sees what is new", async () => {
    await store.commit(append(0, [user("m1")]));
    const addTo = async (ports: Pick<QueueStore, "messages" | "commit">, id: string) =>
      ports.commit(append(await ports.messages.count(T1), [user(id)]));
    const overtaken = store.transaction(async (ports) => {
      await ports.messages.count(T1);
      await addTo(peer, "m2");
      return addTo(ports, "m3");
    });
    await expect(overtaken).rejects.toEqual(failing("version_conflict"));
    await store.transaction((ports) => addTo(ports, "m3"));
    expect((await store.messages.list(T1, {})).items.map(({ message }) => message.id)).toEqual(["m1", "m2", "m3"]);
  });

  test("hints for runs and enqueued work reach whoever listens, once", async () => {
    const { listening } = await whenListening(() => ({ listening: take(store.queue.hints(soon()), 3) }));
    await peer.dispatches.hint({ type: "cancel", threadId: T1, runId: R1 });
    await peer.scoped(scopeId("other")).dispatches.enqueue(dispatch("d1"));
    await store.dispatches.hint({ type: "wake", threadId: T2, runId: R1 });
    expect(new Set((await listening).map((hint) => `${hint.scopeId} ${hint.type} ${hint.threadId}`))).toEqual(
      new Set(["default cancel t1", "other enqueued t1", "default wake t2"]),
    );
  });

  test("what was wanted of a run before a node listened is told to it when it does, as far as nobody took it", async () => {
    await store.commit(append(0, [user("m1")], { run: runs.running({ updatedAt: 2 }) }));
    await peer.wishes.append({ type: "cancel", threadId: T1, runId: R1, wishId: "x1" });
    expect(await take(store.queue.hints(soon()), 1)).toEqual([{ type: "wake", scopeId: "default", threadId: T1, runId: R1 }]);
  });

  test("what one commit tells of is one message to the other nodes, and what is too much for one is several", async () => {
    const client = new pg.Client(await serverUrl());
    await client.connect();
    try {
      const heard: string[][] = [];
      client.on("notification", ({ payload = "" }) => {
        const { notices }: { notices: { key?: string; type: string }[] } = JSON.parse(payload);
        heard.push(notices.map(({ key, type }) => key ?? type));
      });
      await client.query(`LISTEN awaken_${schemaOf(store)}`);
      await store.commit({ threadId: T1, runId: R1, events: [event("a")] });
      await expect.poll(() => heard).toEqual([['["default","thread","t1"]', '["default","run","r1"]']]);

      const send = (text: string) => store.live?.send({ threadId: T1, body: { text } });
      for (const letter of ["é", "ü", "ö"]) send(letter.repeat(1_800));
      send("x".repeat(8_000));
      await expect.poll(() => heard.slice(1)).toEqual([["parcel", "parcel"], ["parcel"]]);
    } finally {
      await client.end();
    }
  });

  test("changes of config reach watchers of the same tenant", async () => {
    const { watching } = await whenListening(() => ({ watching: take(store.config.watch(soon()), 2) }));
    await peer.scoped(scopeId("other")).config.put({ namespace: "agents", id: "hidden", record: userRecord({}) });
    await peer.config.put({ namespace: "agents", id: "a", record: userRecord({}) });
    await peer.config.put({ namespace: "tools", id: "b", record: userRecord({}) });
    expect(await watching).toEqual([
      { namespace: "agents", id: "a" },
      { namespace: "tools", id: "b" },
    ]);
  });

  test("one of many claimers gets the dispatch, and nobody a second one of the thread", async () => {
    for (const id of ["d1", "d2", "d3"]) await store.dispatches.enqueue(dispatch(id));
    const claims = await Promise.all(
      Array.from({ length: 20 }, (_, index) =>
        (index % 2 === 0 ? store : peer).dispatches.claim(T1, { consumer: `w${index}`, leaseMs: 1_000 }),
      ),
    );
    expect(claims.filter((claimed) => claimed !== undefined)).toHaveLength(1);
    const rows = await runSql(`SELECT status FROM ${schemaOf(store)}.dispatch WHERE status = 'claimed'`);
    expect(rows).toHaveLength(1);
    // Also where a program of ours did not look: the schema itself has place for one.
    const forced = runSql(`UPDATE ${schemaOf(store)}.dispatch SET status = 'claimed'`);
    await expect(forced).rejects.toMatchObject({ code: "23505", constraint: "dispatch_claim" });
  });

  test("an id of a dispatch, a key of an event and a key of an effect are given once, whatever threads ask for them", async () => {
    const onBoth = <T>(work: (node: QueueStore, thread: typeof T1, run: typeof R1) => Promise<T>) =>
      Promise.allSettled([work(store, T1, R1), work(peer, T2, runId("r2"))]);
    await onBoth((node, thread, run) => node.commit({ threadId: thread, runId: run, run: runs.running({ threadId: thread, runId: run }) }));
    for (let round = 0; round < 10; round++) {
      const dispatches = await onBoth((node, thread) => node.dispatches.enqueue(dispatch(`d${round}`, { threadId: thread })));
      expect(dispatches.filter(({ status }) => status === "fulfilled")).toHaveLength(1);

      const idempotency = { writerId: "w", key: `k${round}` };
      const events = await onBoth((node, thread, run) =>
        node.events.append([{ draft: { ...event("e").draft, threadId: thread, runId: run }, idempotency }]),
      );
      expect(events.map((outcome) => outcome.status === "rejected" && outcome.reason.code).toSorted()).toEqual([
        false,
        "idempotency_conflict",
      ]);

      const claims = [claim("c1", { idempotencyKey: `effect${round}` })];
      const effects = await onBoth((node, thread, run) => node.commit({ threadId: thread, runId: run, ledger: { claims, outcomes: [] } }));
      expect(effects.map((outcome) => outcome.status === "rejected" && outcome.reason.code).toSorted()).toEqual([
        false,
        "idempotency_conflict",
      ]);
    }
  });

  test("two threads cannot become each other's parent at the same time", async () => {
    for (let round = 0; round < 10; round++) {
      const [a, b] = [threadId(`a${round}`), threadId(`b${round}`)];
      await Promise.all([store.threads.create({ id: a }), peer.threads.create({ id: b })]);
      const outcomes = await Promise.allSettled([
        store.threads.update(a, { parentThreadId: b }),
        peer.threads.update(b, { parentThreadId: a }),
      ]);
      expect(outcomes.map(({ status }) => status).toSorted()).toEqual(["fulfilled", "rejected"]);
    }
  });

  test("first events of one log from many nodes are numbered without a gap", async () => {
    const scope = { type: "run", runId: runId("shared") } as const;
    const draft = { schemaVersion: 1, kind: "k", payload: {}, visibility: "public", origin: "test", runId: scope.runId } as const;
    const append = async (node: QueueStore): Promise<unknown> =>
      node.events.append([{ draft }]).catch((thrown: unknown) => {
        expect(thrown).toEqual(failing("version_conflict"));
        return append(node);
      });
    await Promise.all(Array.from({ length: 24 }, (_, index) => append(index % 2 === 0 ? store : peer)));
    const numbers = (await store.events.list(scope, { limit: 200 })).items.map(({ cursors }) => Number(/\d+/.exec(cursors.run ?? "")));
    expect(numbers).toEqual(Array.from({ length: 24 }, (_, index) => index + 1));
  });
});

describe("what PostgreSQL cannot hold", () => {
  test("keys with NUL, half a surrogate pair, or too large for an index are storage_validation, and nothing is written", async () => {
    for (const id of ["a\0b", "\ud800", "x".repeat(20_000)]) {
      // A long key of one letter is compressed, so it takes one that is not.
      const hostile =
        id.length > 100 ? Array.from({ length: 9_000 }, (_, index) => String.fromCodePoint(33 + ((index * index) % 9_001))).join("") : id;
      await expect(store.threads.create({ id: threadId(hostile) })).rejects.toEqual(failing("storage_validation"));
      await expect(store.commit({ ...append(0, [user("m1")]), threadId: threadId(hostile) })).rejects.toEqual(
        failing("storage_validation"),
      );
      await expect(
        store.transaction(async (ports) => {
          await ports.threads.create({ id: T1 });
          await ports.threads.create({ id: threadId(hostile) });
        }),
      ).rejects.toEqual(failing("storage_validation"));
    }
    expect(await store.threads.count({})).toBe(0);
  });

  test("NUL inside a record is fine: only keys are columns", async () => {
    await store.profiles.put(profileOwner("a"), "k", { text: "a\0b", "\0": ["\ud800"] });
    expect((await store.profiles.load(profileOwner("a"), "k"))?.value).toEqual({ text: "a\0b", "\0": ["\ud800"] });
    await store.threads.create({ id: T1, title: "\0", custom: { "\0": "\0" } });
    await store.commit(append(0, [user("m1", "\0")], { dispatch: { type: "enqueue", dispatch: dispatch("d1") } }));
    expect((await store.threads.loadHead(T1))?.thread.metadata).toMatchObject({ title: "\0", custom: { "\0": "\0" } });
    expect(await store.dispatches.load(dispatchId("d1"))).toBeDefined();
  });
});

describe("large parts", () => {
  test("are stored once, for whatever has them, and go with the last thread", async () => {
    const picture = "x".repeat(100_000);
    const withPicture = (id: string) => user(id, picture);
    const blobs = async () => Number((await runSql(`SELECT count(*) AS n FROM ${schemaOf(store)}.blob`))[0]?.["n"]);
    await store.commit(append(0, [withPicture("m1"), withPicture("m2")], { events: [event("e", { payload: { text: picture } })] }));
    await peer.commit({ ...append(0, [withPicture("m1")]), threadId: T2 });
    expect(await blobs()).toBe(1);
    expect((await store.messages.list(T1, {})).items.map((row) => row.message)).toEqual([withPicture("m1"), withPicture("m2")]);
    expect((await store.events.list({ type: "run", runId: R1 }, {})).items[0]?.payload).toEqual({ text: picture });
    await store.threads.delete(T1, "detach");
    expect((await store.messages.list(T2, {})).items[0]?.message).toEqual(withPicture("m1"));
    await peer.threads.delete(T2, "detach");
    expect(await blobs()).toBe(0);
  });

  test("survive deletions of other threads that used them, while new ones begin to", async () => {
    const picture = "y".repeat(100_000);
    for (let round = 0; round < 10; round++) {
      const [old, young] = [threadId(`old${round}`), threadId(`young${round}`)];
      await store.commit({ ...append(0, [user("m1", picture)]), threadId: old });
      await Promise.all([
        store.threads.delete(old, "detach"),
        peer.commit({ ...append(0, [user("m1", picture)]), threadId: young, runId: runId(`r${round}`) }),
      ]);
      expect((await store.messages.list(young, {})).items[0]?.message).toEqual(user("m1", picture));
      await store.threads.delete(young, "detach");
    }
  });
});
