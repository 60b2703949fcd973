import { userRecord } from "@awaken/contract/spec";
import { hasQueue, profileOwner, type StorePorts, type ThreadCommit } from "@awaken/contract/store";
import { describe, expect } from "vitest";
import { append, dispatch, event, R1, runs, state, T1, T2, takeNext, user, WORKER, write } from "./records.ts";
import { failure, type QueueTest, type StoreTest, take } from "./world.ts";

export function transactionConformance(it: StoreTest): void {
  describe("transactions", () => {
    keeping(it);
    rollingBack(it);
    partialFailure(it);
    isolation(it);
  });
}

const owner = profileOwner("a");
const oops = new Error("oops");

/** Writes through every port that can. */
async function writeAll(ports: StorePorts): Promise<void> {
  await ports.threads.create({ id: T2, title: "new" });
  await ports.commit(append(0, [user("m1")], { run: runs.running(), threadState: state(1), events: [event("e1")] }));
  await ports.events.append([event("e2")]);
  if (hasQueue(ports)) {
    await ports.pending.append(T1, [{ message: user("p1") }]);
    await ports.dispatches.enqueue(dispatch("d1"));
    await takeNext(ports, T1, WORKER);
    await ports.dispatches.interrupt(T2);
  }
  await ports.profiles.put(owner, "k", 1);
  await ports.config.put({ namespace: "agents", id: "a", record: userRecord({}) });
}

const queueOf = async (ports: StorePorts): Promise<unknown> =>
  hasQueue(ports) && [await ports.pending.load(T1), await ports.dispatches.list(T1, {}), await ports.dispatches.countByStatus()];

/** That of the dispatch which `writeAll` has claimed. */
async function fenceIn(ports: StorePorts): Promise<Pick<ThreadCommit, "fence">> {
  const [held] = hasQueue(ports) ? await ports.dispatches.list(T1, { statuses: ["claimed"] }) : [];
  return held?.status === "claimed" ? { fence: { dispatchId: held.dispatchId, claimToken: held.claimToken } } : {};
}

async function readAll(ports: StorePorts): Promise<readonly unknown[]> {
  return [
    (await ports.threads.list({})).items.map((thread) => thread.id),
    await ports.messages.count(T1),
    (await ports.runs.load(R1))?.status,
    await queueOf(ports),
    (await ports.events.list({ type: "thread", threadId: T1 }, {})).items.map((each) => each.kind),
    (await ports.profiles.list(owner)).length,
    (await ports.config.list("agents")).items.length,
  ];
}

function keeping(it: StoreTest): void {
  it("read their own writes, and all of them stay", async ({ store }) => {
    const inside = await store.transaction(async (ports) => {
      await writeAll(ports);
      return readAll(ports);
    });
    expect(inside[1]).toBe(1);
    expect(inside[4]).toEqual(["e1", "e2"]);
    expect(await readAll(store)).toEqual(inside);
  });

  it("give what the work gives, and several may wait for each other", async ({ store, peer }) => {
    const increment = (node: typeof store) =>
      node.transaction(async (ports) => {
        const before = Number((await ports.profiles.load(owner, "count"))?.value ?? 0);
        await ports.profiles.put(owner, "count", before + 1);
        return before + 1;
      });
    await store.profiles.put(owner, "count", 0);
    const counts: number[] = [];
    await Promise.all(
      Array.from({ length: 20 }, async (_, index) => {
        // An engine may refuse a transaction that lost a race; whoever counts tries again.
        for (let attempt = 0; ; attempt++) {
          try {
            return counts.push(await increment(index % 2 === 0 ? store : peer));
          } catch (thrown) {
            if (attempt >= 50) throw thrown;
          }
        }
      }),
    );
    expect(counts.sort((a, b) => a - b)).toEqual(Array.from({ length: 20 }, (_, index) => index + 1));
    expect(await store.profiles.load(owner, "count")).toMatchObject({ value: 20 });
  });
}

function rollingBack(it: StoreTest): void {
  it("what the work throws rolls back and is thrown on", async ({ store }) => {
    const before = await readAll(store);
    const work = store.transaction(async (ports) => {
      await writeAll(ports);
      throw oops;
    });
    expect(await work.catch((thrown: unknown) => thrown)).toBe(oops);
    expect(await readAll(store)).toEqual(before);
    await store.transaction(writeAll);
    if (hasQueue(store)) {
      expect(await store.dispatches.load(dispatch("d1").dispatchId)).toMatchObject({ epoch: 0, status: "claimed" });
    }
  });

  it("changes of what was there before are taken back too", async ({ store }) => {
    await store.transaction(writeAll);
    const before = await readAll(store);
    const stored = [await store.threads.load(T1), await queueOf(store)];
    const work = store.transaction(async (ports) => {
      await ports.commit(append(1, [user("m2")], { run: runs.done({ updatedAt: 2 }), threadState: state(2), ...(await fenceIn(ports)) }));
      if (hasQueue(ports)) {
        await ports.pending.retract(T1, user("p1").id, 1);
        await ports.dispatches.interrupt(T1);
      }
      await ports.profiles.clear(owner);
      await ports.config.delete({ namespace: "agents", id: "a" });
      await ports.threads.delete(T1, "cascade");
      expect(await ports.messages.count(T1)).toBe(0);
      throw oops;
    });
    await expect(work).rejects.toBe(oops);
    expect(await readAll(store)).toEqual(before);
    expect([await store.threads.load(T1), await queueOf(store)]).toEqual(stored);
    expect(await store.threads.loadState(T1)).toEqual(state(1));
  });
}

function partialFailure(it: StoreTest): void {
  it("a commit that fails inside leaves nothing of itself, and the rest may go on", async ({ store }) => {
    await store.transaction(async (ports) => {
      await ports.profiles.put(owner, "before", 1);
      const bad = append(0, [user("m1")], { run: runs.running(), events: [event("e"), { ...event("f"), expected: { run: null } }] });
      await failure(ports.commit(bad), "version_conflict");
      expect(await ports.messages.count(T1)).toBe(0);
      expect(await ports.runs.load(R1)).toBeUndefined();
      await ports.profiles.put(owner, "after", 1);
    });
    expect((await store.profiles.list(owner)).map((record) => record.key)).toEqual(["after", "before"]);
    expect(await store.threads.load(T1)).toBeUndefined();
    expect(await store.stats()).toMatchObject({ messages: 0, events: 0 });
  });

  it("nobody hears of what was rolled back", async ({ store }) => {
    const leave = new AbortController();
    const changed = take(store.config.watch({ signal: leave.signal }), 1);
    await new Promise((resolve) => setTimeout(resolve, 50));
    const work = store.transaction(async (ports) => {
      await ports.config.put({ namespace: "agents", id: "lost", record: userRecord({}) });
      throw oops;
    });
    await expect(work).rejects.toBe(oops);
    await store.config.put({ namespace: "agents", id: "kept", record: userRecord({}) });
    expect(await changed).toMatchObject([{ id: "kept" }]);
    leave.abort();
  });
}

function isolation(it: StoreTest): void {
  it("nobody outside sees half of one", async ({ store, peer }) => {
    let isInside = true;
    const work = store.transaction(async (ports) => {
      for (let count = 0; count < 20; count++) {
        await ports.commit(append(count, [user(`m${count}`)]));
        await new Promise((resolve) => setTimeout(resolve, 1));
      }
      isInside = false;
    });
    const seen = new Set<number>();
    while (isInside) {
      seen.add(await peer.messages.count(T1));
      await new Promise((resolve) => setTimeout(resolve, 0));
    }
    await work;
    seen.add(await peer.messages.count(T1));
    expect([...seen].filter((count) => count !== 0 && count !== 20)).toEqual([]);
  });

  it("a writer outside comes before or after it, never between", async ({ store, peer }) => {
    const begun = Promise.withResolvers<void>();
    const inside = store.transaction(async (ports) => {
      const before = (await ports.commit(append(0, [user("a1")]))).messageCount;
      begun.resolve();
      await new Promise((resolve) => setTimeout(resolve, 20));
      return [before, (await ports.commit(append(1, [user("a2")]))).messageCount];
    });
    await begun.promise;
    const outside = peer.commit(append(2, [user("b1")]));
    expect(await inside).toEqual([1, 2]);
    expect(await outside).toMatchObject({ messageCount: 3 });
  });

  it("the ports are void when it is over", async ({ store }) => {
    let kept: StorePorts | undefined;
    await store.transaction(async (ports) => {
      kept = ports;
    });
    const ports = kept ?? expect.fail();
    await expect(ports.threads.create({ id: T1 })).rejects.toThrow();
    await expect(ports.commit(write(runs.running()))).rejects.toThrow();
    await expect(ports.threads.load(T1)).rejects.toThrow();
    expect(await store.threads.load(T1)).toBeUndefined();
  });
}

export function queueTransactionConformance(it: QueueTest): void {
  it("nobody hears of work whose transaction was rolled back", async ({ store }) => {
    const leave = new AbortController();
    const heard = take(store.queue.hints({ signal: leave.signal }), 1);
    await new Promise((resolve) => setTimeout(resolve, 50));
    const work = store.transaction(async (ports) => {
      await ports.dispatches.enqueue(dispatch("lost", { threadId: T2 }));
      throw oops;
    });
    await expect(work).rejects.toBe(oops);
    await store.dispatches.enqueue(dispatch("kept"));
    expect(await heard).toMatchObject([{ threadId: T1 }]);
    leave.abort();
  });
}
