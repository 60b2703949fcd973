import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { append, R1, R2, runs, T1, user } from "../conformance/records.ts";
import { sqliteStore } from "./store.ts";
import { tempFolder } from "./test-store.ts";

let folder: ReturnType<typeof tempFolder>;
beforeEach(() => {
  folder = tempFolder();
});
afterEach(() => folder.remove());

const NOW = 1_794_000_000_000;

describe("what a store remembers of its own writes", () => {
  test("is not taken for a run that another one wrote, though only its times differ", async () => {
    const file = join(folder.path, "a.db");
    await using store = sqliteStore(file);
    await using other = sqliteStore(file);
    const taken = store.transaction(async ({ commit }) => {
      await commit(append(0, [user("m1")], { run: runs.running({ createdAt: NOW + 1, updatedAt: NOW + 1 }) }));
      throw new Error("never mind");
    });
    await expect(taken).rejects.toThrow("never mind");
    await other.commit(append(0, [user("m1")], { run: runs.running({ createdAt: NOW + 2, updatedAt: NOW + 2 }) }));
    await store.commit({ threadId: T1, runId: R1, run: runs.running({ createdAt: NOW + 2, updatedAt: NOW + 3 }) });
    expect(await other.runs.load(R1)).toMatchObject({ createdAt: NOW + 2, updatedAt: NOW + 3 });
  });

  test("is not taken for a run of the same text that came later on its thread", async () => {
    const file = join(folder.path, "a.db");
    await using store = sqliteStore(file);
    await using other = sqliteStore(file);
    const taken = store.transaction(async ({ commit }) => {
      await commit({ threadId: T1, runId: R1, run: runs.running() });
      throw new Error("never mind");
    });
    await expect(taken).rejects.toThrow("never mind");
    await other.commit({ threadId: T1, runId: R2, run: runs.running({ runId: R2 }) });
    await other.commit({ threadId: T1, runId: R1, run: runs.running() });
    const { run } = await store.commit({ threadId: T1, runId: R1, run: runs.running({ steps: 1 }) });
    expect(run?.ordinal).toBe(2);
  });
});
