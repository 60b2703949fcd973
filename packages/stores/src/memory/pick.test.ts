import { clampLimit } from "@awaken/contract/store";
import fc from "fast-check";
import { expect, test } from "vitest";
import { compareText, pickFirst } from "./pick.ts";

test("a page is the beginning of the sorted items, and says whether there are more", () => {
  fc.assert(
    fc.property(
      fc.array(fc.string({ maxLength: 3 }), { maxLength: 400, size: "max" }),
      fc.integer({ min: -2, max: 250 }),
      (items, limit) => {
        const sorted = [...items].sort();
        const page = pickFirst(items, compareText, limit);
        expect(page.items).toEqual(sorted.slice(0, clampLimit(limit)));
        expect(page.hasMore).toBe(sorted.length > page.items.length);
      },
    ),
  );
});

test("equal items keep their order", () => {
  const items = Array.from({ length: 20 }, (_, index) => ({ rank: index % 3, index }));
  const page = pickFirst(items, (a, b) => a.rank - b.rank, 10);
  expect(page.items.map((item) => item.index)).toEqual([0, 3, 6, 9, 12, 15, 18, 1, 4, 7]);
});
