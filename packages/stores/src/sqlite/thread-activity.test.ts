import { DatabaseSync } from "node:sqlite";
import { threadId } from "@awaken/contract";
import { describe, expect, test, vi } from "vitest";
import { append, user } from "../conformance/records.ts";
import { Database } from "./database.ts";
import { MIGRATIONS, migrate } from "./migrations.ts";
import { sqliteStore } from "./store.ts";
import { fileOf, openTestStore, tempFolder } from "./test-store.ts";

const NOW = 1_794_000_000_000;
const touch = (id: string, count: number) => ({ ...append(count, [user(`m${count}`)]), threadId: threadId(id) });

/** All threads by pages of this size. */
async function listed(store: ReturnType<typeof openTestStore>, limit: number): Promise<readonly string[]> {
  const ids: string[] = [];
  let after: Parameters<typeof store.threads.list>[0]["after"];
  do {
    const page = await store.threads.list({ limit, ...(after && { after }) });
    ids.push(...page.items.map(({ id }) => id));
    after = page.next;
  } while (after !== undefined);
  return ids;
}

describe("threads by their activity", () => {
  test("are in the order of their times, within a half minute and beyond it, also when a clock went back", async () => {
    let now = NOW;
    await using store = openTestStore({ clock: () => now });
    const times = [0, 1, 29_999, 30_000, 30_000, 59_999, 60_000, 200_000, 1, 95_000];
    for (const [index, at] of times.entries()) {
      now = NOW + at;
      await store.commit(touch(`t${index}`, 0));
    }
    const byTime = ["t7", "t9", "t6", "t5", "t3", "t4", "t2", "t1", "t8", "t0"];
    for (const limit of [1, 2, 3, 100]) expect(await listed(store, limit)).toEqual(byTime);
    now = NOW + 59_998;
    await store.commit(touch("t7", 1));
    now = NOW + 60_001;
    await store.commit(touch("t0", 1));
    for (const limit of [1, 4]) expect(await listed(store, limit)).toEqual(["t9", "t0", "t6", "t5", "t7", "t3", "t4", "t2", "t1", "t8"]);
  });

  const ALL = "thread_activity (scope_id=? AND half_minute<?)";
  const OF_RESOURCE = "thread_resource (scope_id=? AND resource_id=? AND half_minute<?)";
  const after = { updatedAt: NOW, id: threadId("t1") };
  const below = { type: "child-of", threadId: threadId("t1") } as const;
  test.each([
    [{}, ALL],
    [{ after }, ALL],
    [{ lineage: { type: "root" } }, ALL],
    [{ resourceId: "u1" }, OF_RESOURCE],
    [{ resourceId: "u1", after }, OF_RESOURCE],
    [{ resourceId: "u1", lineage: { type: "root" } }, OF_RESOURCE],
    [{ lineage: below }, "thread_parent (scope_id=? AND parent_thread_id=? AND half_minute<?)"],
  ] as const)("are found by an index, so that no others are read and no more than a half minute is sorted: %j", async (query, index) => {
    await using store = openTestStore();
    const prepare = vi.spyOn(DatabaseSync.prototype, "prepare");
    await store.threads.list(query);
    const [sql = ""] = prepare.mock.calls.at(-1) ?? [];
    prepare.mockRestore();
    const db = new DatabaseSync(fileOf(store));
    const plan = db.prepare(`EXPLAIN QUERY PLAN ${sql}`);
    const steps = plan.all().map((row) => row["detail"]);
    db.close();
    expect(steps).toEqual([`SEARCH thread USING INDEX ${index}`, "USE TEMP B-TREE FOR LAST 2 TERMS OF ORDER BY"]);
  });

  test("of a file of the version before are in the same order", async () => {
    const folder = tempFolder();
    const file = `${folder.path}/old.db`;
    const old = Database.open(file, {});
    migrate(old, MIGRATIONS.slice(0, 9));
    for (const [index, at] of [NOW, NOW + 30_000, NOW + 1, NOW + 90_000.5].entries()) {
      const record = { schemaVersion: 1, id: `t${index}`, metadata: { createdAt: NOW, updatedAt: at, custom: {} } };
      old.run(
        `INSERT INTO thread (scope_id, thread_id, updated_at, message_count, folded, run_count, record, number)
         VALUES ('default', ?, ?, 0, 0, 0, ?, ?)`,
        ...[`t${index}`, at, JSON.stringify(record), index + 1],
      );
    }
    old.close();
    await using store = sqliteStore(file);
    for (const limit of [1, 100]) expect(await listed(store, limit)).toEqual(["t3", "t1", "t2", "t0"]);
    await store.close();
    folder.remove();
  });
});
