import { DEFAULT_SCOPE, type RunRecord, scopeId } from "@awaken/contract";
import { describe, expect, test } from "vitest";
import { runs } from "../conformance/records.ts";
import { createWritten, LastWritten, lastingRun } from "./last-written.ts";

describe("records that were written last", () => {
  test("are known by their tenant, id and text", () => {
    const written = new LastWritten<number>();
    written.put(DEFAULT_SCOPE, "a", "text", 1);
    expect(written.find(DEFAULT_SCOPE, "a", "text")).toBe(1);
    expect(written.find(DEFAULT_SCOPE, "a", "other text")).toBeUndefined();
    expect(written.find(DEFAULT_SCOPE, "b", "text")).toBeUndefined();
    expect(written.find(scopeId("other"), "a", "text")).toBeUndefined();
  });

  test("are forgotten without a record, or when the text is too long to be held", () => {
    const written = new LastWritten<number>();
    for (const [text, record] of [["", undefined] as const, ["x".repeat(100_000), 2] as const]) {
      written.put(DEFAULT_SCOPE, "a", "text", 1);
      written.put(DEFAULT_SCOPE, "a", text, record);
      expect(written.find(DEFAULT_SCOPE, "a", "text")).toBeUndefined();
      expect(written.find(DEFAULT_SCOPE, "a", text)).toBeUndefined();
    }
  });

  test("are so many at most: the oldest go first", () => {
    const written = new LastWritten<number>(2);
    for (const id of ["a", "b", "a", "c"]) written.put(DEFAULT_SCOPE, id, "text", 1);
    expect(["a", "b", "c"].map((id) => written.find(DEFAULT_SCOPE, id, "text"))).toEqual([1, undefined, 1]);
  });

  test("a store that may keep nothing keeps none", () => {
    const { threads } = createWritten({ cacheBytes: 0 });
    const thread = { schemaVersion: 1 as const, id: runs.running().threadId, metadata: { createdAt: 1, updatedAt: 1, custom: {} } };
    threads.put(DEFAULT_SCOPE, "t", "text", thread);
    expect(threads.find(DEFAULT_SCOPE, "t", "text")).toBeUndefined();
  });

  test("of runs, only those that hold no list of the caller's that a commit looks at", () => {
    const running: RunRecord = { ...runs.running(), ordinal: 1 };
    expect(lastingRun(running)).toEqual(running);
    expect(lastingRun(running)?.decided).not.toBe(running.decided);
    expect(lastingRun({ ...runs.done(), ordinal: 1 })).toBeUndefined();
    expect(lastingRun({ ...runs.waiting(), ordinal: 1 })).toBeUndefined();
  });
});
