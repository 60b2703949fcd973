import { DatabaseSync } from "node:sqlite";
import { describe, expect, test } from "vitest";
import { append, R1, runs, user, write } from "../conformance/records.ts";
import { failure } from "../conformance/world.ts";
import { fileOf, openTestStore } from "./test-store.ts";

describe("what a store remembers of its own commits", () => {
  test("is not believed when the file says otherwise", async () => {
    await using store = openTestStore();
    await store.commit(append(0, [user("m1")], { run: runs.running({ updatedAt: 2 }) }));
    const done = { ...runs.done({ updatedAt: 3 }), ordinal: 1 };
    const other = new DatabaseSync(fileOf(store));
    other.prepare("UPDATE run SET status = 'done', updated_at = 3, record = ?").run(JSON.stringify(done));
    other.prepare("UPDATE thread SET message_count = 5").run();
    other.close();
    await failure(store.commit(write(runs.running({ updatedAt: 4 }))), "illegal_transition");
    expect(await store.runs.load(R1)).toEqual(done);
    await failure(store.commit(append(1, [user("m2")])), "message_version_conflict");
  });

  test("does not change with the objects that a caller has handed in", async () => {
    await using store = openTestStore();
    const run = { ...runs.running({ updatedAt: 2 }) };
    const { run: stored } = await store.commit(write(run));
    Object.assign(run, { createdAt: 99, status: "done" });
    Object.assign(stored ?? {}, { createdAt: 99, status: "done" });
    await store.commit(write(runs.running({ updatedAt: 3 })));
    expect(await store.runs.load(R1)).toEqual({ ...runs.running({ updatedAt: 3 }), ordinal: 1 });
  });
});
