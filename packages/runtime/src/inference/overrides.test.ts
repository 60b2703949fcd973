import { describe, expect, it } from "vitest";
import { applyOverrides, mergeOverrides } from "./overrides.ts";

const target = { model: "m", provider: { name: "p" }, maxOutputTokens: 1000 };

describe("overrides", () => {
  it("win by nearness, field by field", () => {
    const merged = mergeOverrides({ reasoningEffort: "low", temperature: 1 }, { temperature: 0.5, maxTokens: 5 }, { maxTokens: 7 });
    expect(merged).toEqual({ reasoningEffort: "low", temperature: 0.5, maxTokens: 7 });
    expect(mergeOverrides(undefined, undefined)).toEqual({});
  });

  it("put another upstream model into the request and leave it out of the parameters", () => {
    expect(applyOverrides(target, { upstreamModel: "big", topP: 1 })).toEqual({ model: "big", overrides: { topP: 1 } });
    expect(applyOverrides(target, {})).toEqual({ model: "m" });
  });

  it("ask for no longer answer than the model gives (I14)", () => {
    expect(applyOverrides(target, { maxTokens: 5000 }).overrides).toEqual({ maxTokens: 1000 });
    expect(applyOverrides(target, { maxTokens: 10 }).overrides).toEqual({ maxTokens: 10 });
    expect(applyOverrides({ ...target, maxOutputTokens: undefined }, { maxTokens: 5000 }).overrides).toEqual({ maxTokens: 5000 });
  });

  it("inference 40: cannot name an upstream model of a pool", () => {
    const pool = { ...target, provider: { name: "pool", canOverrideModel: false } };
    expect(() => applyOverrides(pool, { upstreamModel: "big" })).toThrow(expect.objectContaining({ code: "capability_mismatch" }));
    expect(applyOverrides(pool, { temperature: 1 })).toEqual({ model: "m", overrides: { temperature: 1 } });
  });

  it("refuse a blank model", () => {
    expect(() => applyOverrides(target, { upstreamModel: " " })).toThrow(/blank/);
  });
});
