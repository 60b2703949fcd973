import { DatabaseSync, type StatementSync } from "node:sqlite";
import type { QueueStore } from "@awaken/contract/store";
import { afterEach, describe, expect, test, vi } from "vitest";
import { append, assistant, dispatch, event, R1, result, runs, summary, T1, T2, user } from "../conformance/records.ts";
import { SELECT_NEWEST } from "./dispatch-rows.ts";
import { sqliteStore } from "./store.ts";
import { fileOf, openTestStore } from "./test-store.ts";

// What work costs, counted in statements and rows rather than in time.

afterEach(() => vi.restoreAllMocks());

/** Counts the statements that run and the rows that they give. */
function count() {
  const counted = { statements: 0, rows: 0 };
  const prepare = DatabaseSync.prototype.prepare;
  vi.spyOn(DatabaseSync.prototype, "prepare").mockImplementation(function (this: DatabaseSync, text: string) {
    const statement: StatementSync = prepare.call(this, text);
    const [get, all, run] = [statement.get.bind(statement), statement.all.bind(statement), statement.run.bind(statement)];
    const tally = <T>(rows: number, value: T): T => {
      counted.statements++;
      counted.rows += rows;
      return value;
    };
    return Object.assign(statement, {
      get: (...values: Parameters<typeof get>) => {
        const row = get(...values);
        return tally(row === undefined ? 0 : 1, row);
      },
      all: (...values: Parameters<typeof all>) => {
        const rows = all(...values);
        return tally(rows.length, rows);
      },
      run: (...values: Parameters<typeof run>) => tally(0, run(...values)),
    });
  });
  return {
    async during(work: () => Promise<unknown>) {
      const before = { ...counted };
      await work();
      return { statements: counted.statements - before.statements, rows: counted.rows - before.rows };
    },
  };
}

const NOW = 1_794_000_000_000;

const step = (store: QueueStore, index: number) =>
  store.commit(
    append(2 * index, [assistant(`a${index}`, ["c1"]), result(`r${index}`, "c1")], {
      run: runs.running({ steps: index, updatedAt: index + 1 }),
      events: Array.from({ length: 6 }, () => event("tool-call-end")),
    }),
  );

describe("cost", () => {
  test("a commit costs what it changes: step 1,000 of a thread is as cheap as step 10", async () => {
    const counter = count();
    await using store = sqliteStore(":memory:", { clock: () => NOW });
    const costs: unknown[] = [];
    for (let index = 0; index < 1_001; index++) {
      const cost = await counter.during(() => step(store, index));
      if ([10, 100, 1_000].includes(index)) costs.push(cost);
    }
    expect(costs[0]).toEqual({ statements: 7, rows: 0 });
    expect(costs).toEqual([costs[0], costs[0], costs[0]]);
  });

  test("what a new dispatch stands behind is found without a look at what is over", async () => {
    await using store = openTestStore();
    await store.dispatches.enqueue(dispatch("d1"));
    const db = new DatabaseSync(fileOf(store));
    const plan = db.prepare(`EXPLAIN QUERY PLAN ${SELECT_NEWEST}`).all(store.scopeId, T1);
    db.close();
    const searched = plan.map(({ detail }) => String(detail)).filter((detail) => /SEARCH|SCAN/.test(detail));
    expect(searched.filter((detail) => detail.includes(" dispatch "))).toEqual([
      expect.stringContaining("INDEX dispatch_queued (scope_id=? AND thread_id=?)"),
      expect.stringContaining("INDEX dispatch_claim (scope_id=? AND thread_id=?)"),
    ]);
  });

  test("loading a compacted thread reads from the last summary on", async () => {
    const counter = count();
    await using store = sqliteStore(":memory:");
    const log = Array.from({ length: 500 }, (_, index) => user(`m${index}`));
    await store.commit(append(0, log, { run: runs.running() }));
    const before = await counter.during(() => store.threads.loadHead(T1));
    expect(before.rows).toBeGreaterThan(500);
    await store.commit(append(500, [summary("s", { fromSeq: 1, toSeq: 498 })]));
    const after = await counter.during(async () => {
      expect((await store.threads.loadHead(T1))?.messages).toHaveLength(3);
    });
    expect(after.rows).toBeLessThan(10);
  });

  test("loading a thread once more reads the rows that came since, however long it is", async () => {
    const counter = count();
    await using store = sqliteStore(":memory:");
    const costs: unknown[] = [];
    for (let index = 0; index < 400; index++) {
      await step(store, index);
      const cost = await counter.during(async () => {
        expect((await store.threads.loadHead(T1))?.messages).toHaveLength(2 * index + 2);
      });
      if ([5, 50, 399].includes(index)) costs.push(cost);
    }
    expect(costs).toEqual([costs[0], costs[0], costs[0]]);
  });

  test("a store that may keep nothing reads all of it each time", async () => {
    const counter = count();
    await using store = sqliteStore(":memory:", { cacheBytes: 0 });
    for (let index = 0; index < 50; index++) await step(store, index);
    for (let index = 0; index < 2; index++) {
      expect((await counter.during(() => store.threads.loadHead(T1))).rows).toBeGreaterThan(100);
    }
  });
});

describe("large parts", () => {
  const picture = "x".repeat(100_000);
  const withPicture = (id: string) => ({ ...user(id), content: [{ type: "text", text: picture } as const] });
  const blobsOf = (store: QueueStore) => {
    const db = new DatabaseSync(fileOf(store));
    const blobs = db.prepare("SELECT count(*) AS n FROM blob").get()?.["n"];
    const uses = db.prepare("SELECT count(*) AS n FROM blob_use").get()?.["n"];
    db.close();
    return { blobs, uses };
  };

  test("are stored once, for whatever messages, events and threads have them, and go with the last thread", async () => {
    await using store = openTestStore();
    await store.commit(
      append(0, [withPicture("m1"), withPicture("m2")], { events: [event("message-committed", { payload: { text: picture } })] }),
    );
    await store.commit({ ...append(0, [withPicture("m1")]), threadId: T2 });
    expect(blobsOf(store)).toEqual({ blobs: 1, uses: 2 });
    expect((await store.messages.list(T1, {})).items.map((row) => row.message)).toEqual([withPicture("m1"), withPicture("m2")]);
    expect((await store.events.list({ type: "run", runId: R1 }, {})).items[0]?.payload).toEqual({ text: picture });
    await store.threads.delete(T1, "detach");
    expect(blobsOf(store)).toEqual({ blobs: 1, uses: 1 });
    expect((await store.messages.list(T2, {})).items[0]?.message).toEqual(withPicture("m1"));
    await store.threads.delete(T2, "detach");
    expect(blobsOf(store)).toEqual({ blobs: 0, uses: 0 });
  });

  test("that are gone are storage_corrupt and name the message", async () => {
    await using store = openTestStore();
    await store.commit(append(0, [withPicture("m1")]));
    const db = new DatabaseSync(fileOf(store));
    db.exec("DELETE FROM blob");
    db.close();
    await expect(store.messages.list(T1, {})).rejects.toMatchObject({ code: "storage_corrupt", message: expect.stringContaining("t1#1") });
  });

  test("the size from which on a part is large is an option", async () => {
    await using store = openTestStore({ blobBytes: 20 });
    await store.commit(append(0, [user("m1", "a text of more than twenty characters")]));
    expect(blobsOf(store)).toEqual({ blobs: 1, uses: 1 });
  });
});
