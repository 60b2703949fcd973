import { type RunRecord, type RunStatus, runId, ticketId } from "@awaken/contract";
import type { RunPosition } from "@awaken/contract/store";
import { describe, expect } from "vitest";
import { R1, R2, R3, runs, T1, T2, ticket, write } from "./records.ts";
import { failure, type StoreTest, type World } from "./world.ts";

export function runConformance(it: StoreTest): void {
  describe("runs", () => {
    transitions(it);
    pointers(it);
    listing(it);
    tickets(it);
  });
}

const idsOf = (found: readonly RunRecord[]): readonly string[] => found.map((run) => run.runId);

function transitions(it: StoreTest): void {
  it("server-and-durability 5: a waiting run without waiting is rejected on write", async ({ store }) => {
    await store.commit(write(runs.running()));
    const hostile = JSON.parse(JSON.stringify({ ...runs.waiting({ updatedAt: 2 }), waiting: undefined }));
    await failure(store.commit(write(hostile)), "storage_validation");
    for (const fields of [{ outcome: {} }, { finishedAt: 3 }, { waiting: { reason: "suspended", tickets: [] } }]) {
      await failure(
        store.commit(write(JSON.parse(JSON.stringify({ ...runs.running({ updatedAt: 2 }), ...fields })))),
        "storage_validation",
      );
    }
    expect(await store.runs.load(R1)).toEqual({ ...runs.running(), ordinal: 1 });
  });

  it("server-and-durability 6: a done run cannot become running through any store method, and no field of it can change", async ({
    store,
  }) => {
    await store.commit(write(runs.done({ updatedAt: 2 })));
    const before = await store.runs.load(R1);
    const changes = [
      runs.running({ updatedAt: 3 }),
      runs.waiting({ updatedAt: 3 }),
      runs.created({ updatedAt: 3 }),
      runs.done({ updatedAt: 3 }),
    ];
    for (const run of changes) await failure(store.commit(write(run)), "illegal_transition");
    await failure(store.commit(write(runs.running({ updatedAt: 3 }), { isNewRun: true })), "storage_already_exists");
    await failure(store.commit(write(runs.done({ updatedAt: 2, steps: 7 }))), "illegal_transition");
    expect(await store.runs.load(R1)).toEqual(before);
    // A commit that was retried after its answer was lost.
    expect((await store.commit(write(runs.done({ updatedAt: 2 })))).run).toEqual(before);
  });

  const legal: Record<RunStatus, readonly RunStatus[]> = {
    created: ["created", "running", "done"],
    running: ["running", "waiting", "done"],
    waiting: ["waiting", "running", "done"],
    done: ["done"],
  };

  it("go from one status to another by the table only", async ({ store }) => {
    const all: readonly RunStatus[] = ["created", "running", "waiting", "done"];
    for (const from of all) {
      for (const to of all) {
        const fields = { runId: runId(`${from}-${to}`), updatedAt: 2 };
        await store.commit(write(runs[from](fields)));
        if (legal[from].includes(to)) await store.commit(write(runs[to](fields)));
        else await failure(store.commit(write(runs[to](fields))), "illegal_transition");
        expect((await store.runs.load(fields.runId))?.status).toBe(legal[from].includes(to) ? to : from);
      }
    }
  });

  it("stay the same run: id, thread and creation do not change", async ({ store }) => {
    await store.commit(write(runs.running()));
    await failure(store.commit(write(runs.running({ createdAt: 5, updatedAt: 5 }))), "illegal_transition");
    await failure(store.commit(write(runs.running({ threadId: T2, updatedAt: 5 }))), "illegal_transition");
    expect(await store.runs.load(R1)).toEqual({ ...runs.running(), ordinal: 1 });
  });
}

async function pointersOf({ store }: World): Promise<readonly unknown[]> {
  const thread = await store.threads.load(T1);
  return [thread?.activeRunId, thread?.openRunId, thread?.latestRun?.id];
}

function pointers(it: StoreTest): void {
  it("the thread points at its active, open and latest run", async (world) => {
    const { store } = world;
    const steps = [
      [runs.created({ updatedAt: 1 }), [undefined, R1, R1]],
      [runs.running({ updatedAt: 2 }), [R1, R1, R1]],
      [runs.waiting({ updatedAt: 3 }), [undefined, R1, R1]],
      [runs.running({ updatedAt: 4 }), [R1, R1, R1]],
      // Put down for later: the thread is the other one's until it is over.
      [runs.created({ runId: R2, createdAt: 5, updatedAt: 5 }), [R1, R1, R1]],
      [runs.done({ updatedAt: 6 }), [undefined, undefined, R1]],
      [runs.done({ runId: R2, createdAt: 5, updatedAt: 7 }), [undefined, undefined, R2]],
    ] as const;
    for (const [run, expected] of steps) {
      await store.commit(write(run));
      expect(await pointersOf(world)).toEqual(expected);
    }
  });

  it("server-and-durability 4: a stale done projection clears only its own pointers and does not move the latest run", async (world) => {
    const { store } = world;
    await store.commit(write(runs.running({ updatedAt: 1 })));
    await store.commit(write(runs.done({ runId: R2, createdAt: 2, updatedAt: 9 })));
    expect(await pointersOf(world)).toEqual([R1, R1, R2]);
    await store.commit(write(runs.done({ updatedAt: 3 })));
    expect(await pointersOf(world)).toEqual([undefined, undefined, R2]);
    expect((await store.threads.load(T1))?.latestRun).toEqual({ id: R2, updatedAt: 9, ordinal: 2 });

    await store.commit(write(runs.running({ runId: R3, createdAt: 3, updatedAt: 20 })));
    await store.commit(write(runs.done({ runId: runId("r4"), createdAt: 4, updatedAt: 4 })));
    expect(await pointersOf(world)).toEqual([R3, R3, R3]);
  });

  it("the latest run is by time of update; a tie goes to the one that was created later", async ({ store }) => {
    await store.commit(write(runs.done({ runId: R2, createdAt: 1, updatedAt: 5 })));
    await store.commit(write(runs.done({ runId: R1, createdAt: 2, updatedAt: 5 })));
    await store.commit(write(runs.done({ runId: R3, createdAt: 3, updatedAt: 4 })));
    expect(await store.runs.loadLatest(T1)).toMatchObject({ runId: R1, ordinal: 2 });
    expect((await store.threads.loadHead(T1))?.latestRun).toMatchObject({ runId: R1 });
    expect(await store.runs.loadLatest(T2)).toBeUndefined();
  });

  it("ordinals count the runs of a thread, whatever the writer says", async ({ store }) => {
    const [, second] = [
      await store.commit(write(runs.created())),
      await store.commit(write({ ...runs.created({ runId: R2 }), ...{ ordinal: 77 } })),
    ];
    expect(second.run?.ordinal).toBe(2);
    expect((await store.commit(write(runs.created({ runId: R3, threadId: T2 })))).run?.ordinal).toBe(1);
    expect((await store.commit(write({ ...runs.running({ updatedAt: 3 }), ...{ ordinal: 9 } }))).run?.ordinal).toBe(1);
    expect((await store.runs.load(R2))?.ordinal).toBe(2);
  });
}

/** Six runs: a to e of T1, x of T2; created in this order. */
async function six({ store }: World): Promise<void> {
  const make = [runs.done, runs.created, runs.waiting, runs.done, runs.running] as const;
  for (const [index, id] of ["a", "b", "c", "d", "e"].entries()) {
    await store.commit(
      write((make[index] ?? runs.created)({ runId: runId(id), createdAt: 10 * (index + 1), updatedAt: 10 * (index + 1) })),
    );
  }
  await store.commit(write(runs.running({ runId: runId("x"), threadId: T2, createdAt: 35, updatedAt: 35 })));
}

function listing(it: StoreTest): void {
  it("are listed by creation, by thread and by status; counts say the same", async (world) => {
    await six(world);
    const cases = [
      [{}, ["a", "b", "c", "x", "d", "e"]],
      [{ threadId: T1 }, ["a", "b", "c", "d", "e"]],
      [{ statuses: ["done"] }, ["a", "d"]],
      [{ threadId: T1, statuses: ["running", "waiting"] }, ["c", "e"]],
      [{ threadId: T2, statuses: ["done"] }, []],
      [{ statuses: [] }, []],
    ] as const;
    for (const [filter, expected] of cases) {
      expect(idsOf((await world.store.runs.list(filter)).items)).toEqual(expected);
      expect(await world.store.runs.count(filter)).toBe(expected.length);
    }
    expect(await world.store.runs.countByStatus()).toEqual({ created: 1, running: 2, waiting: 1, done: 2 });
  });

  it("are read page by page, each once; runs of one time by id", async (world) => {
    await six(world);
    await world.store.commit(write(runs.created({ runId: runId("bb"), createdAt: 20, updatedAt: 60 })));
    const seen: RunRecord[] = [];
    let after: RunPosition | undefined;
    do {
      const page = await world.store.runs.list({ limit: 2, ...(after === undefined ? {} : { after }) });
      seen.push(...page.items);
      after = page.next;
    } while (after !== undefined);
    expect(idsOf(seen)).toEqual(["a", "b", "bb", "c", "x", "d", "e"]);
  });

  it("lists take 1 to 200 runs", async ({ store }) => {
    for (let index = 0; index < 201; index++)
      await store.commit(write(runs.created({ runId: runId(`r${index}`), createdAt: index, updatedAt: index })));
    expect((await store.runs.list({ limit: -1 })).items).toHaveLength(1);
    expect((await store.runs.list({ limit: 1_000 })).items).toHaveLength(200);
    expect((await store.runs.list({ threadId: T1 })).items).toHaveLength(50);
  });
}

function tickets(it: StoreTest): void {
  const decided = [{ ticketId: ticketId("tk1"), decisionId: JSON.parse('"d1"') }];

  it("are found by a ticket, open or decided: waiting ones first, then the newest, at most 10", async ({ store }) => {
    const at = (n: number) => ({ runId: runId(`r${n}`), createdAt: n, updatedAt: n });
    await store.commit(write(runs.waiting(at(1), [ticket("tk0"), ticket("tk1")])));
    await store.commit(write(runs.done({ ...at(2), decided })));
    await store.commit(write(runs.running({ ...at(3), decided })));
    await store.commit(write(runs.waiting(at(4), [ticket("tk%")])));
    expect(idsOf(await store.runs.listByTicket(ticketId("tk1")))).toEqual(["r1", "r3", "r2"]);
    expect(idsOf(await store.runs.listByTicket(ticketId("tk%")))).toEqual(["r4"]);
    expect(await store.runs.listByTicket(ticketId("tk"))).toEqual([]);

    await store.commit(write(runs.running({ ...at(1), updatedAt: 9, decided })));
    expect(idsOf(await store.runs.listByTicket(ticketId("tk1")))).toEqual(["r3", "r2", "r1"]);
    expect(await store.runs.listByTicket(ticketId("tk0"))).toEqual([]);
    await store.commit(write(runs.waiting(at(5), [ticket("tk%")])));
    await store.commit(write(runs.running({ ...at(4), updatedAt: 9 })));
    expect(idsOf(await store.runs.listByTicket(ticketId("tk%")))).toEqual(["r5"]);
    for (let n = 10; n < 20; n++) await store.commit(write(runs.waiting(at(n), [ticket("tk1")])));
    expect(idsOf(await store.runs.listByTicket(ticketId("tk1")))).toEqual(Array.from({ length: 10 }, (_, index) => `r${19 - index}`));
  });
}
