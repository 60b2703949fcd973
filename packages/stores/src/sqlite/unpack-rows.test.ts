import { createHash } from "node:crypto";
import { describe, expect, test } from "vitest";
import { PHRASES } from "./phrases.ts";
import { unpack } from "./unpack-rows.ts";

describe("rows of older files", () => {
  test("the phrases that they are packed with stay what they are", () => {
    expect(createHash("sha256").update(JSON.stringify(PHRASES)).digest("hex").slice(0, 16)).toBe("c459ace4b2bc00d0");
  });

  test("phrases and own values become JSON again, and plain JSON is left alone", () => {
    expect(unpack('\u000chello"}', [])).toBe('{"type":"text","text":"hello"}');
    expect(unpack('{"x":"\u001f1","y":"\u001f1"}', ["", "0123456789"])).toBe('{"x":"0123456789","y":"0123456789"}');
    const json = JSON.stringify({ text: "\u0000\u0001\u001e \u001f0", list: [1, "runtime"] });
    expect(unpack(json, ["a", "b"])).toBe(json);
  });
});
