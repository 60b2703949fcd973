import { createHash } from "node:crypto";
import { expect, test } from "vitest";
import { derivedId } from "./derived-id.ts";
import { sha256 } from "./sha-256.ts";

const platform = (text: string): string => createHash("sha256").update(text).digest("hex");

test("a text of whatever length has the hash that the platform gives it", () => {
  for (let length = 0; length < 300; length++) {
    const text = "añ😀z"[length % 5] + "k".repeat(length);
    expect(sha256(text)).toBe(platform(text));
  }
  expect(sha256("ü😀".repeat(5_000))).toBe(platform("ü😀".repeat(5_000)));
  expect(sha256("\ud800")).toBe(platform("\ud800"));
});

test("an id that follows from a key is the one that records of earlier versions have", () => {
  expect(derivedId('["run-1:message-1:call-1",0]')).toBe("abc5545a-6856-8968-8f35-600c544f89d1");
});
