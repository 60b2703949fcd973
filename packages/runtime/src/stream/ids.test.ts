import { describe, expect, it } from "vitest";
import { uuidIds } from "./ids.ts";

describe("uuidIds", () => {
  it("gives UUIDs of version 7 that are unique and rise strictly", () => {
    const ids = Array.from({ length: 50_000 }, () => uuidIds());
    expect(new Set(ids).size).toBe(ids.length);
    expect(ids.every((id, index) => index === 0 || id > (ids[index - 1] ?? ""))).toBe(true);
    for (const id of ids.slice(0, 100)) expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  });

  it("has the time in its first 48 bits", () => {
    const before = Date.now();
    const ms = Number.parseInt(uuidIds().replaceAll("-", "").slice(0, 12), 16);
    expect(ms).toBeGreaterThanOrEqual(before - 1);
    expect(ms).toBeLessThanOrEqual(Date.now() + 1);
  });
});
