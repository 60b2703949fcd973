import { isJson } from "@awaken/contract";
import { sameJson } from "@awaken/contract/store";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { own, ownWith } from "./own.ts";
import { share } from "./share.ts";

const json = fc.oneof(fc.jsonValue(), fc.constant(JSON.parse('{"__proto__":{"a":[1]},"b":{"__proto__":null}}')));

describe("own", () => {
  test("gives an equal value that shares no object with the first", () => {
    fc.assert(
      fc.property(json, (value) => {
        const copy = own(value);
        expect(sameJson(copy, value)).toBe(true);
        expect(isJson(copy)).toBe(true);
        const before = JSON.stringify(copy);
        if (typeof value === "object" && value !== null) for (const key of Object.keys(value)) Reflect.deleteProperty(value, key);
        expect(JSON.stringify(copy)).toBe(before);
      }),
    );
  });

  test("keeps the order of the fields, though another object has the same in another order", () => {
    const first = own({ schema: { answer: 1, reasoning: 2 } });
    const second = ownWith({ schema: { reasoning: 2, answer: 1 } }, "schema", first.schema);
    expect(Object.keys(second.schema)).toEqual(["reasoning", "answer"]);
    expect(ownWith({ schema: { answer: 1, reasoning: 2 } }, "schema", first.schema).schema).toBe(first.schema);
  });

  test("copies what a frozen object holds that is not frozen itself", () => {
    const inner = { tags: ["first"] };
    const copy = own(Object.freeze({ inner }));
    inner.tags.push("second");
    expect(copy).toEqual({ inner: { tags: ["first"] } });
  });

  test("keeps what a getter gave, not the getter", () => {
    let count = 0;
    const value = Object.freeze({
      get next() {
        count++;
        return { count };
      },
    });
    const copy = own(value);
    expect(copy.next).toEqual({ count: 1 });
    expect(copy.next).toBe(copy.next);
    expect(count).toBe(1);
  });

  test("a text that grew piece by piece is the same text", () => {
    let text = "";
    for (let index = 0; index < 100; index++) text += `piece ${index} `;
    expect(own({ text, list: [text] })).toEqual({ text, list: [text] });
  });
});

describe("ownWith", () => {
  test("gives an equal value, which shares with the store what is the same and with the caller nothing", () => {
    fc.assert(
      fc.property(json, json, fc.boolean(), (first, second, isRepeated) => {
        const like = own(first);
        const object = { id: 1, part: isRepeated ? structuredClone(first) : second, rest: [second] };
        const before = JSON.stringify(object);
        const copy = ownWith(object, "part", like);
        expect(JSON.stringify(copy)).toBe(before);
        if (isRepeated && !before.includes("__proto__")) expect(copy.part).toBe(like);
        if (typeof object.part !== "object" || object.part === null) return;
        for (const key of Object.keys(object.part)) Reflect.deleteProperty(object.part, key);
        expect(JSON.stringify(copy)).toBe(before);
      }),
    );
  });

  test.each([
    [{ a: 1 }, { a: 1, b: 2 }],
    [{ a: 1, b: 2 }, { a: 1 }],
    [{ a: 1 }, { b: 1 }],
    [[1], [1, 2]],
    [[], {}],
    [{}, []],
    [null, {}],
    [{ a: {} }, { a: null }],
    [JSON.parse('{"__proto__":{}}'), {}],
    [{}, JSON.parse('{"__proto__":{}}')],
    [JSON.parse('{"__proto__":{}}'), { a: {} }],
    [{ toString: "x" }, {}],
  ])("%j is not %j", (part, like) => {
    expect(ownWith({ part }, "part", like).part).not.toBe(like);
    expect(JSON.stringify(ownWith({ part }, "part", like))).toBe(JSON.stringify({ part }));
  });
});

describe("share", () => {
  test("gives the same object, frozen all the way down", () => {
    const isDeeplyFrozen = (value: unknown): boolean =>
      typeof value !== "object" || value === null || (Object.isFrozen(value) && Object.values(value).every(isDeeplyFrozen));
    fc.assert(
      fc.property(json, (value) => {
        const row = own(value);
        expect(share(row)).toBe(row);
        expect(isDeeplyFrozen(row)).toBe(true);
        expect(share(row)).toBe(row);
      }),
    );
  });
});
