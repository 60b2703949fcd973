import { isJson, sameJson } from "@awaken/contract";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { own, share } from "./own.ts";

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
