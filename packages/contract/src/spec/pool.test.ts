import { describe, expect, it } from "vitest";
import { parsePoolSpec } from "./pool.ts";

const parse = (members: unknown, more: object = {}) => parsePoolSpec("smart", { members, ...more });

describe("model pool", () => {
  it("has the defaults of the specification", () => {
    expect(parse([{ model: "a" }])).toEqual({
      id: "smart",
      members: [{ model: "a", weight: 1, role: "member" }],
      routing: { home: "deterministic", stickyScope: "thread" },
      switch: { onCircuitOpen: true, onQuota: true, onPermanent: true },
    });
  });

  it("keeps everything that is written", () => {
    const written = {
      id: "smart",
      members: [
        { model: "a", weight: 3, role: "member" },
        { model: "b", weight: 1, role: "failover-only" },
      ],
      routing: { home: "first-healthy", stickyScope: "run" },
      switch: {
        onCircuitOpen: false,
        onQuota: false,
        quotaRetryAfterThresholdSecs: 30,
        onPermanent: false,
        maxSwitchesPerSession: 0,
      },
    };
    expect(parsePoolSpec("smart", written)).toEqual(written);
  });

  it.each([
    [[{ model: "a", role: "failover-only" }], "must declare at least one member with role 'member'"],
    [[{ model: "a" }, { model: "b", weight: 0 }], "member 'b' weight must be greater than zero"],
    [[{ model: "a", weight: -1 }], "member 'a' weight must be greater than zero"],
  ])("registry-and-runtime 26: refuses %j", (members, problem) => {
    expect(() => parse(members)).toThrow(`invalid model pool spec: ${problem} (model pool 'smart')`);
  });

  it.each([
    [[], "must declare at least one member"],
    [[{ model: "a" }, { model: "b" }, { model: "a" }], "duplicate member model 'a'"],
    [[{ model: " " }], "field 'members.0.model' cannot be empty"],
    [[{ model: "a", weight: 0.5 }], "field 'members.0.weight' must be an integer, got 0.5"],
    [[{ model: "a", role: "spare" }], "field 'members.0.role' must be one of 'member', 'failover-only', got 'spare'"],
    [[{ model: "a", modelId: "a" }], "unknown field 'members.0.modelId'"],
    [["a"], "field 'members.0' must be an object, got a string"],
    [undefined, "field 'members' is required: expected an array"],
  ])("refuses members %j", (members, problem) => {
    expect(() => parse(members)).toThrow(`invalid model pool spec: ${problem}`);
  });

  it("refuses fields that it does not know, at every level", () => {
    const more = { routing: { homes: 1 }, switch: { onMonday: true }, extra: 1 };
    expect(() => parse([{ model: "a" }], more)).toThrow(
      "unknown field 'routing.homes': did you mean 'home'?; unknown field 'switch.onMonday'; unknown field 'extra'",
    );
  });
});
