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

  it("is the one with the fewest changes, the first among equals, swaps counted once", () => {
    expect(nearestName("serach", ["starch", "search", "sear"])).toBe("search");
    expect(nearestName("agent12", ["agent99", "agent13", "agent21", "agent2"])).toBe("agent13");
    expect(nearestName("abcdefghij", ["badcfeghij", "abcdefxxxx", "zzzzzzzzzz"])).toBe("badcfeghij");
    expect(nearestName("abcdefghij", ["abcdefxxxx", "badcfeghij"])).toBe("badcfeghij");
  });

  it("gives up among very many names", () => {
    let read = 0;
    function* names() {
      for (; read < 1_000_000; read++) yield `${read}`.padStart(100, "x");
    }
    expect(nearestName("y".repeat(100), names())).toBeUndefined();
    expect(read).toBeLessThan(1_000);
  });

  it("ends a sentence, or adds nothing", () => {
    expect(didYouMean("tolls", ["tools"])).toBe(": did you mean 'tools'?");
    expect(didYouMean("zebra", ["tools"])).toBe("");
  });
});
