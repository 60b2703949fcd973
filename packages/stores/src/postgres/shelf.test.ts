import { expect, test } from "vitest";
import { bytesOf, Shelf } from "./shelf.ts";

test("holds what was used last, within its bytes", () => {
  const shelf = new Shelf<string>(4_000);
  for (const id of ["a", "b", "c"]) shelf.put(id, id, 700);
  expect(shelf.find("a")).toBe("a");
  shelf.put("d", "d", 700);
  expect(["a", "b", "c", "d"].filter((id) => shelf.find(id) !== undefined)).toEqual(["a", "c", "d"]);
  expect(shelf.bytes).toBeLessThanOrEqual(4_000);
  shelf.put("a", "larger than all", 10_000);
  expect(shelf.find("a")).toBeUndefined();
  shelf.drop("c");
  shelf.drop("d");
  expect(shelf.bytes).toBe(0);
});

test("holds nothing without bytes", () => {
  const shelf = new Shelf<string>(0);
  shelf.put("a", "a", 0);
  expect(shelf.find("a")).toBeUndefined();
});

test("counts what a value holds at any depth", () => {
  expect(bytesOf({ a: ["x".repeat(1_000), { b: "y".repeat(500) }], n: 1 })).toBeGreaterThan(1_500);
  expect(bytesOf(undefined)).toBe(0);
});
