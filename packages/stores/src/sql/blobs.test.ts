import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { decodeRecord, encodeRecord } from "./blobs.ts";

function roundTrip(record: object, limit: number): unknown {
  const { text, parts, blobs } = encodeRecord(record, limit);
  const bodies = new Map(blobs.map(({ hash, body }) => [hash, body]));
  return decodeRecord({ record: text, parts }, "row", (hash) => bodies.get(hash));
}

describe("large parts", () => {
  test("any record comes back as it was, wherever its large parts are", () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue()), fc.integer({ min: 1, max: 40 }), (record, limit) => {
        const json: unknown = JSON.parse(JSON.stringify(record));
        expect(roundTrip(record, limit)).toEqual(json);
      }),
    );
  });

  test("a key that is called __proto__ is a key", () => {
    const record: object = JSON.parse(`{"__proto__":{"text":"${"x".repeat(50)}"},"a":1}`);
    expect(JSON.stringify(roundTrip(record, 20))).toBe(JSON.stringify(record));
  });

  test("a record below the limit has none", () => {
    expect(encodeRecord({ text: "short" }, 100)).toEqual({ text: '{"text":"short"}', parts: null, blobs: [] });
  });

  test("the smallest part that is too large is cut out, and equal ones have one hash", () => {
    const text = "x".repeat(100);
    const { text: rest, blobs } = encodeRecord(
      {
        content: [
          { type: "text", text },
          { again: text, small: 1 },
        ],
      },
      50,
    );
    expect(JSON.parse(rest)).toEqual({
      content: [
        { type: "text", text: null },
        { again: null, small: 1 },
      ],
    });
    expect(new Set(blobs.map(({ hash }) => hash)).size).toBe(1);
    expect(blobs.map(({ body }) => body)).toEqual([JSON.stringify(text), JSON.stringify(text)]);
  });

  test("a list of many small things is cut out whole", () => {
    const items = Array.from({ length: 40 }, (_, index) => index);
    const { text, blobs } = encodeRecord({ id: "a", items }, 50);
    expect(text).toBe('{"id":"a","items":null}');
    expect(blobs).toHaveLength(1);
  });

  test("a part that is gone is storage_corrupt and names the row", () => {
    const { text, parts } = encodeRecord({ text: "x".repeat(100) }, 50);
    expect(() => decodeRecord({ record: text, parts }, "t1#7", () => undefined)).toThrow(
      expect.objectContaining({ code: "storage_corrupt", message: expect.stringContaining("t1#7") }),
    );
    expect(() => decodeRecord({ record: text, parts: "[7]" }, "t1#7", () => "1")).toThrow(
      expect.objectContaining({ code: "storage_corrupt" }),
    );
  });
});
