import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { Journal } from "./journal.ts";

interface World {
  row: { name: string; items: number[] };
  readonly log: number[];
  readonly map: Map<string, number>;
  readonly set: Set<string>;
}

const worldOf = (): World => ({ row: { name: "", items: [] }, log: [], map: new Map(), set: new Set() });

const key = fc.constantFrom("a", "b", "c");
const op = fc.oneof(
  fc.record({ type: fc.constantFrom("assign", "push", "set", "delete", "add", "remove"), key, value: fc.nat(9) }),
  fc.record({ type: fc.constant("extend"), key, value: fc.integer({ min: 0, max: 20 }) }),
);
type Op = typeof op extends fc.Arbitrary<infer T> ? T : never;

function apply(journal: Journal, world: World, { type, key, value }: Op): void {
  if (type === "assign") journal.assign(world.row, "name", key);
  if (type === "push") journal.push(world.log, value);
  if (type === "set") journal.set(world.map, key, value);
  if (type === "delete") journal.delete(world.map, key);
  if (type === "add") journal.add(world.set, key);
  if (type === "remove") journal.remove(world.set, key);
  if (type === "extend") {
    const values = Array.from({ length: value }, (_, index) => index);
    journal.assign(world.row, "items", journal.extended(world.row.items, values));
  }
}

const picture = ({ row, log, map, set }: World) =>
  JSON.stringify([row, log, [...map].sort(([a], [b]) => (a < b ? -1 : 1)), [...set].sort()]);

describe("journal", () => {
  test("work that is taken back leaves nothing, alone and inside other work", () => {
    fc.assert(
      fc.property(fc.array(op), fc.array(op), fc.array(op), (first, inner, outer) => {
        const world = worldOf();
        const journal = new Journal();
        const fail = (ops: readonly Op[]) => () =>
          journal.atomically(() => {
            for (const each of ops) apply(journal, world, each);
            throw new Error("no");
          });
        journal.atomically(() => {
          for (const each of first) apply(journal, world, each);
        });
        const kept = picture(world);
        expect(fail(inner)).toThrow("no");
        expect(picture(world)).toBe(kept);
        const around = journal.begin();
        for (const each of outer) apply(journal, world, each);
        const within = picture(world);
        expect(fail(inner)).toThrow("no");
        expect(picture(world)).toBe(within);
        journal.rollBack(around);
        expect(picture(world)).toBe(kept);
      }),
    );
  });

  test("tells others once the outermost work is kept, and nobody of work that was taken back", () => {
    const told: string[] = [];
    const journal = new Journal();
    journal.begin();
    journal.atomically(() => journal.after(() => told.push("inner")));
    const savepoint = journal.begin();
    journal.after(() => told.push("lost"));
    journal.rollBack(savepoint);
    expect(told).toEqual([]);
    journal.keep();
    expect(told).toEqual(["inner"]);
  });

  test("a list keeps what it had before more came behind it", () => {
    const journal = new Journal();
    let list: number[] = [];
    for (let count = 0; count < 100; count++) list = journal.extended(list, [count]);
    expect(list).toEqual(Array.from({ length: 100 }, (_, index) => index));
  });

  test("a list may be extended by any number of items", () => {
    const values = Array.from({ length: 300_000 }, (_, index) => index);
    expect(new Journal().extended([-1], values)).toHaveLength(300_001);
  });
});
