import { inspect } from "node:util";
import { describe, expect, it } from "vitest";
import { Secret } from "./secret.ts";

const KEY = "sk-abcdefghijkl";

describe("Secret", () => {
  it("registry-and-runtime 24: shows *** wherever it is printed", () => {
    const secret = new Secret(KEY);
    const nested = { provider: { apiKey: secret, all: [secret] } };
    const printed = [String(secret), `${secret}`, `${secret}!`, inspect(secret), inspect(nested, { depth: 9, showHidden: true })];
    for (const text of printed) {
      expect(text).toContain("***");
      expect(text).not.toContain("abcdef");
    }
  });

  it("has no property that holds the text", () => {
    const secret = new Secret(KEY);
    expect(Object.getOwnPropertyNames(secret)).toEqual([]);
    expect(Object.values({ ...secret })).toEqual([]);
  });

  it("is known by a mark that JSON cannot carry", () => {
    expect(Secret.is(new Secret(KEY))).toBe(true);
    for (const other of [KEY, null, undefined, {}, JSON.parse(JSON.stringify({ "awaken.secret": true }))])
      expect(Secret.is(other)).toBe(false);
  });

  it("gives the text to code that asks for it and to JSON, its stored form", () => {
    const secret = new Secret(KEY);
    expect(secret.reveal()).toBe(KEY);
    expect(JSON.stringify({ apiKey: secret })).toBe(`{"apiKey":"${KEY}"}`);
  });

  it.each([
    ["", "***"],
    ["12345678901", "***"],
    ["123456789012", "1234***9012"],
    [KEY, "sk-a***ijkl"],
    ["🔑🔑🔑🔑56789012", "🔑🔑🔑🔑***9012"],
    ["🔑🔑🔑🔑🔑🔑", "***"],
  ])("previews %j as %j", (text, preview) => {
    expect(new Secret(text).preview()).toBe(preview);
  });
});
