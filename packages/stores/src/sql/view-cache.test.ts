import { DEFAULT_SCOPE, scopeId, type ThreadId, threadId } from "@awaken/contract";
import type { SequencedMessage } from "@awaken/contract/store";
import { describe, expect, test } from "vitest";
import { assistant, result, summary, T1, T2, T3, user } from "../conformance/records.ts";
import { ViewCache } from "./view-cache.ts";

const rowsOf = (from: number, to: number, text = "text"): readonly SequencedMessage[] =>
  Array.from({ length: to - from + 1 }, (_, index) => ({ seq: from + index, message: user(`m${from + index}`, text) }));
const log = (messageCount: number, incarnation: string | null = "one", folded = 0) => ({ incarnation, messageCount, folded });
const fill = (cache: ViewCache, id: ThreadId, count: number, text?: string) =>
  cache.replace(DEFAULT_SCOPE, id, log(count), rowsOf(1, count, text));
const seqsOf = (view: readonly SequencedMessage[] | undefined) => view?.map(({ seq }) => seq);

describe("a view that is known", () => {
  test("is extended by the rows behind it", () => {
    const cache = new ViewCache();
    fill(cache, T1, 2);
    expect(cache.find(DEFAULT_SCOPE, T1)).toMatchObject({ incarnation: "one", count: 2 });
    expect(seqsOf(cache.extend(DEFAULT_SCOPE, T1, log(4), rowsOf(3, 4)))).toEqual([1, 2, 3, 4]);
    expect(seqsOf(cache.extend(DEFAULT_SCOPE, T1, log(4), []))).toEqual([1, 2, 3, 4]);
  });

  test("takes rows only once that two readers have asked for", () => {
    const cache = new ViewCache();
    fill(cache, T1, 2);
    cache.extend(DEFAULT_SCOPE, T1, log(4), rowsOf(3, 4));
    expect(seqsOf(cache.extend(DEFAULT_SCOPE, T1, log(5), rowsOf(3, 5)))).toEqual([1, 2, 3, 4, 5]);
  });

  test.each([
    ["another incarnation of the log", log(4, "two"), rowsOf(3, 4)],
    ["an older state of the log", log(1), []],
    ["a log that is compacted further than it is known", log(6, "one", 5), [{ seq: 6, message: summary("s", { fromSeq: 1, toSeq: 5 }) }]],
    ["a log of which a row is missing", log(4), rowsOf(4, 4)],
    ["rows that change what is further back", log(3), [{ seq: 3, message: summary("s", { fromSeq: 1, toSeq: 1 }) }]],
  ])("is of no use for %s", (_, state, rows) => {
    const cache = new ViewCache();
    fill(cache, T1, 2);
    expect(cache.extend(DEFAULT_SCOPE, T1, state, rows)).toBeUndefined();
  });

  test("belongs to one thread of one tenant", () => {
    const cache = new ViewCache();
    fill(cache, threadId('b"],["c'), 1);
    fill(cache, T1, 1);
    expect(cache.find(scopeId("other"), T1)).toBeUndefined();
    expect(cache.find(DEFAULT_SCOPE, T2)).toBeUndefined();
  });

  test("cannot be changed by those who read it", () => {
    const cache = new ViewCache();
    const [first] = cache.replace(DEFAULT_SCOPE, T1, log(2), [
      { seq: 1, message: assistant("a", ["c"]) },
      { seq: 2, message: result("r", "c") },
    ]);
    for (const value of [first, first?.message, first?.message.content, first?.message.content[0]])
      expect(Object.isFrozen(value)).toBe(true);
  });
});

describe("the bound", () => {
  const size = (text: string) => {
    const cache = new ViewCache();
    fill(cache, T1, 10, text);
    return cache.bytes;
  };

  test("is never passed: the thread that was not used for longest goes first", () => {
    const one = size("text");
    const cache = new ViewCache(2 * one);
    fill(cache, T1, 10);
    fill(cache, T2, 10);
    cache.extend(DEFAULT_SCOPE, T1, log(10), []);
    fill(cache, T3, 10);
    expect([T1, T2, T3].map((id) => cache.find(DEFAULT_SCOPE, id) !== undefined)).toEqual([true, false, true]);
    expect(cache.bytes).toBe(2 * one);
    cache.extend(DEFAULT_SCOPE, T3, log(11), rowsOf(11, 11));
    expect([T1, T3].map((id) => cache.find(DEFAULT_SCOPE, id) !== undefined)).toEqual([false, true]);
  });

  test("holds for one thread too, and everything that goes is counted out", () => {
    const cache = new ViewCache(size("text"));
    expect(seqsOf(fill(cache, T1, 11))).toHaveLength(11);
    expect(cache.bytes).toBe(0);
    fill(cache, T1, 10);
    fill(cache, T1, 10);
    expect(cache.bytes).toBe(size("text"));
    cache.extend(DEFAULT_SCOPE, T1, log(11), [{ seq: 11, message: summary("s", { fromSeq: 1, toSeq: 1 }) }]);
    expect(cache.bytes).toBe(0);
  });

  test("counts what messages say", () => {
    expect(size("x".repeat(1_000)) - size("")).toBe(10_000);
  });

  test.each([-1, Number.NaN])("of %d is refused", (bytes) => {
    expect(() => new ViewCache(bytes)).toThrow(
      expect.objectContaining({ code: "storage_validation", message: expect.stringContaining("cacheBytes") }),
    );
  });
});
