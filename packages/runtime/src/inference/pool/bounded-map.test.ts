import { describe, expect, it } from "vitest";
import { BoundedMap } from "./bounded-map.ts";

describe("BoundedMap", () => {
  it("forgets what was not used for longest", () => {
    const map = new BoundedMap<number>(2);
    map.getOrCreate("a", () => 1);
    map.getOrCreate("b", () => 2);
    map.get("a");
    map.getOrCreate("c", () => 3);
    expect([map.get("a"), map.get("b"), map.get("c"), map.size]).toEqual([1, undefined, 3, 2]);
  });

  it("keeps what is pinned, even beyond its limit", () => {
    const map = new BoundedMap<{ isPinned: boolean }>(1, ({ isPinned }) => isPinned);
    const pinned = map.getOrCreate("a", () => ({ isPinned: true }));
    map.getOrCreate("b", () => ({ isPinned: false }));
    expect(map.size).toBe(2);
    pinned.isPinned = false;
    map.getOrCreate("c", () => ({ isPinned: false }));
    expect(map.get("a")).toBeUndefined();
  });
});
