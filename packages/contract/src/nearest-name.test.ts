import { describe, expect, it } from "vitest";
import { didYouMean, nearestName } from "./nearest-name.ts";

describe("nearestName", () => {
  it("finds what was meant, and nothing when nothing is near", () => {
    const known = ["agents", "models", "tools"];
    expect(nearestName("agnets", known)).toBe("agents");
    expect(nearestName("tool", known)).toBe("tools");
    expect(nearestName("zebra", known)).toBeUndefined();
    expect(nearestName("x", [])).toBeUndefined();
    expect(nearestName("x", ["m"])).toBeUndefined();
    expect(nearestName("", ["m"])).toBeUndefined();
    expect(nearestName("a".repeat(1_000_000), ["a".repeat(1_000_000)])).toBeUndefined();
  });

  it("ends a sentence, or adds nothing", () => {
    expect(didYouMean("tolls", ["tools"])).toBe(": did you mean 'tools'?");
    expect(didYouMean("zebra", ["tools"])).toBe("");
  });
});
