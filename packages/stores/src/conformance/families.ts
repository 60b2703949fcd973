import { type RunId, runId, scopeId, threadId } from "@awaken/contract";
import { describe, expect } from "vitest";
import { R1, runs, T1, ticket, write } from "./records.ts";
import { failure, type StoreTest, type World } from "./world.ts";

const [CHILD, LEAF, OTHER] = [runId("child"), runId("leaf"), runId("other")];

const of = (id: RunId, at: number, parentRunId?: RunId) => ({
  ...{ runId: id, threadId: threadId(`of-${id}`), createdAt: at, updatedAt: at },
  ...(parentRunId === undefined ? {} : { parentRunId, rootRunId: R1 }),
});

const idsOf = (runsFound: readonly { readonly runId: RunId }[]) => runsFound.map((run) => run.runId);

/** A root, its child, the child's child, and a run of nobody. */
async function family({ store }: World): Promise<void> {
  await store.commit(write(runs.waiting({ createdAt: 1 }, [ticket("tk-root")])));
  await store.commit(write(runs.running(of(CHILD, 2, R1))));
  await store.commit(write(runs.waiting(of(LEAF, 3, CHILD), [ticket("tk-a", { runId: LEAF }), ticket("tk-b", { runId: LEAF })])));
  await store.commit(write(runs.waiting(of(OTHER, 4), [ticket("tk-other", { runId: OTHER })])));
}

export function familyConformance(it: StoreTest): void {
  describe("families of runs", () => {
    it("are listed and counted by parent and by root", async (world) => {
      await family(world);
      const { runs: own } = world.store;
      expect(idsOf((await own.list({ parentRunId: R1 })).items)).toEqual([CHILD]);
      expect(idsOf((await own.list({ parentRunId: CHILD })).items)).toEqual([LEAF]);
      expect(idsOf((await own.list({ rootRunId: R1 })).items)).toEqual([CHILD, LEAF]);
      expect(idsOf((await own.list({ rootRunId: R1, statuses: ["waiting"] })).items)).toEqual([LEAF]);
      expect((await own.list({ rootRunId: R1, limit: 1 })).next).toMatchObject({ runId: CHILD });
      expect([await own.count({ rootRunId: R1 }), await own.count({ parentRunId: LEAF })]).toEqual([2, 0]);
      expect(await world.store.scoped(scopeId("other")).runs.count({ rootRunId: R1 })).toBe(0);
    });

    it("open tickets anywhere below a root are read at the root, and stay rows of their run", async (world) => {
      await family(world);
      const { store } = world;
      const open = async () => (await store.runs.listOpenTickets(R1)).map((each) => `${each.runId} ${each.id}`);
      expect(await open()).toEqual(["r1 tk-root", "leaf tk-a", "leaf tk-b"]);
      await store.commit(write(runs.running({ ...of(LEAF, 3, CHILD), updatedAt: 9 })));
      expect(await open()).toEqual(["r1 tk-root"]);
      const goingOn = runs.running({ ...of(LEAF, 3, CHILD), updatedAt: 10 });
      if (goingOn.status === "running") await store.commit(write({ ...goingOn, tickets: [ticket("tk-c", { runId: LEAF })] }));
      expect(await open()).toEqual(["r1 tk-root", "leaf tk-c"]);
      await store.threads.delete(threadId("of-leaf"), "detach").catch(() => undefined);
      expect(await store.runs.listOpenTickets(runId("none"))).toEqual([]);
    });

    it("a run never changes its family, and one that goes is nobody's child", async (world) => {
      await family(world);
      const { store } = world;
      await failure(store.commit(write(runs.running({ ...of(CHILD, 2, OTHER), updatedAt: 9 }))), "illegal_transition");
      await failure(store.commit(write(runs.running({ ...of(CHILD, 2), updatedAt: 9 }))), "illegal_transition");
      await store.threads.delete(threadId("of-leaf"), "detach");
      expect(idsOf((await store.runs.list({ rootRunId: R1 })).items)).toEqual([CHILD]);
    });

    it("whoever resumes a run finds its principal and its trace", async ({ store }) => {
      const fields = { principal: { sub: "ana" }, traceParent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01" };
      await store.commit(write(runs.waiting(fields)));
      expect((await store.threads.loadHead(T1))?.openRun).toMatchObject(fields);
    });
  });
}
