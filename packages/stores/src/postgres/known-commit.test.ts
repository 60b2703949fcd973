import { dispatchId, threadId } from "@awaken/contract";
import type { CommitResult, Fence, ScopedQueueStore } from "@awaken/contract/store";
import { afterEach, describe, expect, test } from "vitest";
import { append, claim, dispatch, event, R1, runs, T1, user, write } from "../conformance/records.ts";
import { codeOf, type Pair, usePairs } from "./test-pair.ts";
import { openTestStore, runSql, schemaOf } from "./test-store.ts";

const pairs = usePairs();
const { line } = pairs;
afterEach(() => {
  line.hook = undefined;
});

const CLAIMED = { type: "enqueue-claimed", dispatch: dispatch("d1"), claim: { consumer: "node-1", leaseMs: 500 } } as const;
const WAITS = { message: user("p1"), deliveryMode: { boundary: "new-run" } } as const;
const first = () => append(0, [user("m1")], { run: runs.running({ updatedAt: 2 }), isNewRun: true });
const second = () => append(1, [user("m2")], { run: runs.running({ updatedAt: 3 }) });
const fenceOf = ({ dispatch: moved }: CommitResult): Fence => ({
  dispatchId: dispatchId("d1"),
  claimToken: moved?.status === "claimed" ? moved.claimToken : "none",
});

const messagesOf = async (store: ScopedQueueStore) => (await store.messages.list(T1, {})).items.map(({ message }) => message.id);
const eventsOf = async (store: ScopedQueueStore) =>
  (await store.events.list({ type: "thread", threadId: T1 }, {})).items.map(
    ({ kind, cursors }) => `${kind}@${cursors.thread?.split(".")[0]}`,
  );
/** All events that are there now. */
const sweepAll = () => pairs.stores().peer.sweep({ eventsMs: -60_000 });

/** Each gives what a caller can see; `expected` is what one that asks gives. */
interface Scene {
  readonly play: (pair: Pair) => Promise<unknown>;
  readonly expected: unknown;
}

const SCENES: Readonly<Record<string, Scene>> = {
  "the numbers of a log go on behind events that a peer appended, of which some are swept": {
    play: async ({ store, peer }) => {
      await store.commit(append(0, [user("m1")], { events: [event("a")] }));
      await peer.events.append([event("x"), event("y")]);
      await sweepAll();
      await peer.events.append([event("z")]);
      await store.commit(append(1, [user("m2")], { events: [event("late")] }));
      return eventsOf(store);
    },
    expected: ["z@t4", "late@t5"],
  },
  "a commit without events does not know how far the log came": {
    play: async ({ store, peer }) => {
      await store.commit(append(0, [user("m1")], { events: [event("a")] }));
      await peer.commit(append(1, [user("m2")], { events: [event("b")] }));
      await store.commit(append(2, [user("m3")]));
      await sweepAll();
      await store.commit(append(3, [user("m4")], { events: [event("c")] }));
      return eventsOf(store);
    },
    expected: ["c@t3"],
  },
  "a thread that was deleted and made again has a new log": {
    play: async ({ store }) => {
      await store.commit(append(0, [user("m1")], { events: [event("a"), event("b"), event("c")] }));
      await store.threads.delete(T1, "reject");
      await store.commit(append(0, [user("x1")]));
      await store.commit(append(1, [user("x2")], { events: [event("d")] }));
      return eventsOf(store);
    },
    expected: ["d@t1"],
  },
  "a peer deleted the thread and made it again": {
    play: async ({ store, peer }) => {
      await store.commit(append(0, [user("m1")], { events: [event("a"), event("b"), event("c")] }));
      await peer.threads.delete(T1, "reject");
      await peer.commit(append(0, [user("x1")], { events: [event("x")] }));
      await store.commit(append(1, [user("x2")]));
      await store.commit(append(2, [user("x3")], { events: [event("d")] }));
      return eventsOf(store);
    },
    expected: ["x@t1", "d@t2"],
  },
  "a thread that is not there may have a log": {
    play: async ({ store, peer }) => {
      await peer.events.append([event("x"), event("y")]);
      await sweepAll();
      await peer.events.append([event("z")]);
      await store.threads.loadHead(T1);
      await store.commit({ ...first(), events: [event("late")] });
      return eventsOf(store);
    },
    expected: ["z@t3", "late@t4"],
  },
  "a thread that is not there may have a log of which nothing is left": {
    play: async ({ store, peer }) => {
      await peer.events.append([event("x"), event("y")]);
      await sweepAll();
      await store.threads.loadHead(T1);
      await store.commit({ ...first(), events: [event("late")] });
      return eventsOf(store);
    },
    expected: ["late@t3"],
  },
  "a run that a peer ended claims no effects": {
    play: async ({ store, peer }) => {
      await store.commit(first());
      await peer.commit(write(runs.done({ updatedAt: 3 })));
      await store.commit(append(1, [user("m2")]));
      const claimed = await codeOf(store.commit({ threadId: T1, runId: R1, ledger: { claims: [claim("c1")], outcomes: [] } }));
      return [claimed, (await store.ledger.list(R1)).length];
    },
    expected: ["illegal_transition", 0],
  },
  "a run claims effects in a commit that does not write it": {
    play: async ({ store }) => {
      await store.commit(first());
      await store.commit({ threadId: T1, runId: R1, ledger: { claims: [claim("c1")], outcomes: [] } });
      return (await store.ledger.list(R1)).map(({ status }) => status);
    },
    expected: ["claimed"],
  },
  "what a new run leaves behind has a dispatch": {
    play: async ({ store }) => {
      await store.threads.loadHead(T1);
      const { next } = await store.commit(write(runs.done(), { isNewRun: true, pending: { append: [WAITS] } }));
      return [next?.status, (await store.dispatches.list(T1, {})).map(({ status }) => status)];
    },
    expected: ["queued", ["queued"]],
  },
  "nothing is written where BEGIN was cancelled": {
    play: async ({ store }) => {
      await store.commit(first());
      line.sent.length = 0;
      line.hook = (text) => {
        if (!text.startsWith("BEGIN")) return undefined;
        line.hook = undefined;
        return "DO $$ BEGIN RAISE EXCEPTION 'cancelled' USING ERRCODE = '57014'; END $$";
      };
      const outcome = await codeOf(store.commit(second()));
      return [outcome, await messagesOf(store), line.verbs.filter((verb) => verb === "BEGIN").length];
    },
    expected: ["storage_io", ["m1"], 1],
  },
  "a connection that is dead before anything is sent has written nothing": {
    play: async ({ store }) => {
      await store.commit(first());
      line.hook = (text, client) => {
        if (!text.startsWith("BEGIN")) return undefined;
        line.hook = undefined;
        kill(client);
        return undefined;
      };
      return [await codeOf(store.commit(second())), await messagesOf(store)];
    },
    expected: ["storage_io", ["m1"]],
  },
  "nothing waits for a busy thread that would be done after its writer has gone": {
    play: async ({ store, peer }) => {
      await store.commit(first());
      const isHeld = Promise.withResolvers<void>();
      const isOver = Promise.withResolvers<void>();
      const holder = peer.transaction(async (ports) => {
        await ports.pending.append(T1, [WAITS]);
        isHeld.resolve();
        await isOver.promise;
      });
      await isHeld.promise;
      const waiting = Promise.withResolvers<() => void>();
      line.hook = (text, client) => {
        if (text.includes("pg_advisory_xact_lock(")) waiting.resolve(() => kill(client));
        return undefined;
      };
      const outcome = codeOf(store.commit(second()));
      (await waiting.promise)();
      const told = await outcome;
      isOver.resolve();
      await holder;
      // Behind whoever may still wait for the thread.
      await peer.threads.update(T1, { title: "seen" });
      return [told, await messagesOf(store)];
    },
    expected: ["storage_io", ["m1"]],
  },
};

const kill = (client: object) => {
  const connection: unknown = Reflect.get(client, "connection");
  const stream: unknown = typeof connection === "object" && connection !== null ? Reflect.get(connection, "stream") : undefined;
  if (typeof stream === "object" && stream !== null && "destroy" in stream && typeof stream.destroy === "function") stream.destroy();
};

describe("a commit that is planned from memory says and does what one that asks does", () => {
  test.each(Object.entries(SCENES))("%s", async (_, { play, expected }) => {
    expect(await play(pairs.pair("asks"))).toEqual(expected);
    expect(await play(pairs.pair())).toEqual(expected);
  });
});

describe("a commit is not planned from memory", () => {
  const isGuessed = async (commit: Promise<unknown>) => {
    await commit;
    return line.hasGuess;
  };

  test("when it holds a dispatch and makes another, or has large parts, or settles an effect that has", async () => {
    const { store } = pairs.pair();
    const fence = fenceOf(await store.commit({ ...first(), dispatch: CLAIMED }));
    line.sent.length = 0;
    const enqueue = { type: "enqueue", dispatch: dispatch("d2") } as const;
    expect(await isGuessed(store.commit({ ...second(), fence, dispatch: enqueue }))).toBe(false);
    const long = "x".repeat(300_000);
    const large = { ...user("m3"), content: [{ type: "text" as const, text: long }] };
    expect(await isGuessed(store.commit(append(2, [large], { run: runs.running({ updatedAt: 4 }), fence })))).toBe(false);
    const claims = [{ ...claim("c1"), input: { long } }];
    expect(await isGuessed(store.commit(write(runs.running({ updatedAt: 5 }), { fence, ledger: { claims, outcomes: [] } })))).toBe(false);
    const outcomes = [{ idempotencyKey: claim("c1").idempotencyKey, attempt: 1, result: { type: "success", data: "x" } as const }];
    expect(await isGuessed(store.commit(write(runs.running({ updatedAt: 6 }), { fence, ledger: { claims: [], outcomes } })))).toBe(false);
    expect(await isGuessed(store.commit(write(runs.running({ updatedAt: 7 }), { fence })))).toBe(true);
  });

  test("once the server has said that the tables do not know how to refuse", async () => {
    const own = await openTestStore();
    const schema = schemaOf(own);
    const { store } = await pairs.open({ schema });
    await store.commit(first());
    await runSql(`ALTER FUNCTION ${schema}.refuse RENAME TO refused`);
    line.sent.length = 0;
    await store.commit(second());
    expect(line.hasGuess).toBe(true);
    line.sent.length = 0;
    expect((await store.commit(append(2, [user("m3")]))).messageCount).toBe(3);
    expect(line.hasGuess).toBe(false);
    await runSql(`ALTER FUNCTION ${schema}.refused RENAME TO refuse`);
    await store.close();
    await own.close();
  });
});

test("a lease begins when there is a connection, not when the commit was asked for", async () => {
  let now = 1_000;
  const { store, pool } = await pairs.open({ connections: 1, clock: () => now });
  const scope = store.scoped(pairs.pair().store.scopeId);
  await scope.threads.loadHead(T1);
  const busy = await pool.connect();
  const committing = scope.commit({ ...first(), dispatch: CLAIMED });
  now = 9_000;
  busy.release();
  expect((await committing).dispatch).toMatchObject({ leaseUntil: 9_500 });
});

test("ids under which there is nothing push no thread out of the memory, and one that is used stays", async () => {
  const { store } = await pairs.open({ cacheBytes: 128 * 1024 });
  const scope = store.scoped(pairs.pair().store.scopeId);
  await scope.commit(append(0, [user("m0")]));
  for (let at = 1; at < 40; at++) {
    await scope.threads.loadHead(threadId(`none-${at}`));
    await scope.commit({ ...append(0, [user("x")]), threadId: threadId(`other-${at}`) });
    line.sent.length = 0;
    await scope.commit(append(at, [user(`m${at}`)]));
    expect(line.hasGuess).toBe(true);
  }
});
