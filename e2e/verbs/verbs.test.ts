import { memoryStore } from "@awaken/stores/memory";
import { describe, expect, test } from "vitest";
import { type PlayInit, play } from "./support/play.ts";

// The same as `npm run verbs`, for some seeds. A seed makes the same history on every machine.

const DEEDS = 60;

const open: PlayInit["open"] = (clock, ids) => {
  const store = memoryStore({ clock, ids });
  return [store, store, store];
};

describe("random verbs at random times, in processes that are closed and killed, over a store that fails", () => {
  test("a seed makes the same history again", async () => {
    // Parts of the program that are loaded on the way take a time that nobody decides.
    await play({ seed: 1, deeds: DEEDS, open });
    const first = await play({ seed: 1, deeds: DEEDS, open });
    expect((await play({ seed: 1, deeds: DEEDS, open })).print).toBe(first.print);
    expect((await play({ seed: 2, deeds: DEEDS, open })).print).not.toBe(first.print);
    expect(first.runs).toBeGreaterThan(10);
    expect(first.executions).toBeGreaterThan(10);
  });

  for (const seed of [1, 2, 3, 4, 5, 6, 7, 8]) {
    test(`every run ends, and nothing is lost or done twice, seed ${seed}`, async () => {
      expect((await play({ seed, deeds: DEEDS, open })).faults).toEqual([]);
    });
  }
});
