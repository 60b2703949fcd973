import { type JsonObject, scopeId } from "@awaken/contract";
import { type LiveStore, MAX_PARCEL_BYTES, type Parcel, type Store } from "@awaken/contract/store";
import { describe, expect } from "vitest";
import { append, event, R1, R2, runs, T1, T2, user } from "./records.ts";
import type { ConformanceHooks, StoreTest } from "./world.ts";

/** For a store that has the port; one that leaves it out has nothing to show. */
export function liveConformance(it: StoreTest, { hearsPeers = false }: Pick<ConformanceHooks, "hearsPeers">): void {
  describe("live", () => {
    wakes(it);
    parcels(it, hearsPeers);
  });
}

const thread = { type: "thread", threadId: T1 } as const;
const liveOf = ({ live }: Pick<Store, "live">): LiveStore => live ?? expect.fail("the store has no live port");

/** Lets go of the thread until it is so; a test must fail, not hang. */
async function until(isSo: () => boolean | Promise<boolean>): Promise<void> {
  const end = performance.now() + 20_000;
  while (!(await isSo())) {
    if (performance.now() > end) expect.fail("it did not come to be");
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

const aWhile = () => new Promise((resolve) => setTimeout(resolve, 300));

function wakes(it: StoreTest): void {
  it("a follower is woken by commits and appends to its log, by whatever process, and by nothing else", async ({ store, peer }) => {
    let [woken, elsewhere] = [0, 0];
    const leave = liveOf(store).follow(thread, () => woken++);
    liveOf(store).follow({ type: "run", runId: R2 }, () => elsewhere++);
    await aWhile();
    woken = 0;
    for (const [index, node] of [store, peer].entries()) {
      const before = woken;
      await node.commit(append(index, [user(`m${index}`)], { run: runs.running({ updatedAt: index + 1 }), events: [event("a")] }));
      await until(() => woken > before);
      const then = woken;
      await node.events.append([event("b")]);
      await until(() => woken > then);
    }
    leave();
    const after = woken;
    await store.events.append([event("c")]);
    await aWhile();
    expect(woken).toBe(after);
    if (store === peer) expect(elsewhere).toBe(0);
  });

  it("other logs and other tenants wake nobody, nor does what is rolled back", async ({ store }) => {
    let woken = 0;
    liveOf(store).follow(thread, () => woken++);
    liveOf(store.scoped(scopeId("other"))).follow(thread, () => woken++);
    await aWhile();
    woken = 0;
    await store.events.append([{ draft: { ...event("a").draft, threadId: T2, runId: R2 } }]);
    await store.scoped(scopeId("third")).events.append([event("a")]);
    const undone = store.transaction(async (ports) => {
      await ports.events.append([event("undone")]);
      throw new Error("never mind");
    });
    await expect(undone).rejects.toThrow("never mind");
    await aWhile();
    expect(woken).toBe(0);
  });

  it("whoever follows first and reads then misses nothing, however much is written meanwhile", async ({ store, peer }) => {
    let isRung = true;
    const seen: unknown[] = [];
    const writing = (async () => {
      for (let n = 1; n <= 100; n++) await (n % 2 === 0 ? store : peer).events.append([event("n", { payload: { n } })]);
    })();
    liveOf(store).follow(thread, () => {
      isRung = true;
    });
    await until(async () => {
      if (!isRung) return false;
      isRung = false;
      const after = (await store.events.list(thread, { limit: 200 })).items.slice(seen.length);
      seen.push(...after.map(({ payload }) => payload["n"]));
      return seen.length === 100;
    });
    await writing;
    expect(seen).toEqual(Array.from({ length: 100 }, (_, index) => index + 1));
  }, 60_000);
}

function parcels(it: StoreTest, hearsPeers: boolean): void {
  const pass = async (from: Store, to: Store) => {
    const heard: Parcel[] = [];
    const strange: Parcel[] = [];
    const leave = liveOf(to).listen((parcel) => heard.push(parcel));
    liveOf(to.scoped(scopeId("other"))).listen((parcel) => strange.push(parcel));
    await aWhile();
    const filler = "x".repeat(MAX_PARCEL_BYTES - 100);
    const bodies: readonly JsonObject[] = [...Array.from({ length: 20 }, (_, n) => ({ n, by: R1 })), { n: 20, filler }];
    for (const body of bodies) liveOf(from).send({ threadId: T1, body });
    await until(() => heard.length === bodies.length);
    expect(heard).toEqual(bodies.map((body) => ({ threadId: T1, body })));
    leave();
    liveOf(from).send({ threadId: T1, body: { n: 21 } });
    await aWhile();
    expect(heard).toHaveLength(bodies.length);
    expect(strange).toEqual([]);
  };

  it("parcels reach whoever listens for this tenant, in order, once, until it leaves", ({ store }) => pass(store, store));
  if (hearsPeers) it("parcels of another process reach whoever listens", ({ store, peer }) => pass(peer, store));
}
