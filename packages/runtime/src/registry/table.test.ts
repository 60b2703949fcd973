import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Table } from "./table.ts";

interface Entry {
  readonly n: number;
}

const ID = fc.integer({ min: 0, max: 50 }).map((n) => `id-${n}`);
const CHANGES = fc.array(fc.tuple(ID, fc.option(fc.integer(), { nil: undefined })), { maxLength: 6 });

describe("Table", () => {
  it("is the map that its edits describe, in the same order, and never changes an older one", () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 40 }), fc.array(CHANGES, { maxLength: 30 }), (start, edits) => {
        const model = new Map<string, Entry>(Array.from({ length: start }, (_, n) => [`id-${n}`, { n }] as const));
        let table = Table.of<Entry>(model);
        const older: { readonly table: Table<Entry>; readonly entries: readonly (readonly [string, Entry])[] }[] = [];
        for (const edit of edits) {
          older.push({ table, entries: [...model] });
          const changes = new Map(edit.map(([id, n]) => [id, n === undefined ? undefined : { n }]));
          table = table.with(changes);
          for (const [id, entry] of changes) entry === undefined ? model.delete(id) : model.set(id, entry);
        }
        older.push({ table, entries: [...model] });
        for (const { table: then, entries } of older) {
          expect([...then]).toEqual(entries);
          expect(then.size).toBe(entries.length);
        }
      }),
      { numRuns: 200 },
    );
  });

  it("reads like a map", () => {
    const table = Table.of([["a", { n: 1 }]]).with(
      new Map([
        ["b", { n: 2 }],
        ["a", { n: 3 }],
      ]),
    );
    expect([...table.keys()]).toEqual(["a", "b"]);
    expect([...table.values()]).toEqual([{ n: 3 }, { n: 2 }]);
    const seen: unknown[] = [];
    table.forEach((value, id, all) => {
      seen.push([id, value.n, all === table]);
    });
    expect(seen).toEqual([
      ["a", 3, true],
      ["b", 2, true],
    ]);
    expect(table.get("c")).toBeUndefined();
    expect(table.has("constructor")).toBe(false);
    expect(table.has("__proto__")).toBe(false);
  });

  it("has no door for a writer, not even an untyped one", () => {
    const table = Table.of([["a", { n: 1 }]]);
    expect("set" in table || "delete" in table || "clear" in table).toBe(false);
    expect(Object.isFrozen(table)).toBe(true);
    expect(() => Object.assign(table, { get: () => ({ n: 666 }) })).toThrow(TypeError);
    expect(() => Map.prototype.set.call(table, "a", { n: 666 })).toThrow(TypeError);
  });

  it("does not see later changes of what it was made from", () => {
    const source = new Map([["a", { n: 1 }]]);
    const table = Table.of(source);
    source.set("b", { n: 2 });
    expect(table.size).toBe(1);
  });
});
