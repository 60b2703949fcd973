import { runId, threadId } from "@awaken/contract";
import { describe, expect, it } from "vitest";
import { R1, runs, write } from "../conformance/records.ts";
import { memoryStore } from "./store.ts";

/** Items of lists that are gone through one by one while `work` is under way. */
async function countItems(work: () => Promise<unknown>): Promise<number> {
  const original = Array.prototype[Symbol.iterator];
  let items = 0;
  Array.prototype[Symbol.iterator] = function* <T>(this: T[]): ArrayIterator<T> {
    for (let index = 0; index < this.length; index++) {
      items += 1;
      yield this[index] as T;
    }
  };
  try {
    await work();
  } finally {
    Array.prototype[Symbol.iterator] = original;
  }
  return items;
}

describe("families in memory", () => {
  it("a child among two thousand is noted, and forgotten, with the work of one among ten", async () => {
    const store = memoryStore();
    let children = 0;
    const add = () => {
      children += 1;
      const own = { runId: runId(`child-${children}`), threadId: threadId(`of-${children}`), parentRunId: R1, rootRunId: R1 };
      return store.commit(write(runs.waiting(own)));
    };
    const remove = () => store.threads.delete(threadId(`of-${children}`), "detach");
    const count = async () => [await countItems(add), await countItems(remove)];
    await store.commit(write(runs.running()));
    while (children < 10) await add();
    // What deletes is loaded with the first who asks for it.
    await expect(store.threads.delete(threadId("of-nobody"), "detach")).rejects.toThrow("does not exist");
    const few = await count();
    while (children < 2_000) await add();
    expect(await count()).toEqual(few);
    expect(await store.runs.count({ parentRunId: R1 })).toBe(1_999);
  });
});
