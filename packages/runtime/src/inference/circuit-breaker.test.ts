import { describe, expect, it } from "vitest";
import { CircuitBreaker } from "./circuit-breaker.ts";

const REJECTED = { type: "rejected" };
const ORDINARY = { type: "admitted", probe: 0 };

function openedAt(now: number): CircuitBreaker {
  const breaker = new CircuitBreaker();
  for (let count = 0; count < 5; count++) breaker.fail("m", now);
  return breaker;
}

describe("CircuitBreaker", () => {
  it("inference 30: opens after five failures in a row, lets one probe through after 30 s, and believes it", () => {
    const breaker = new CircuitBreaker();
    for (let count = 0; count < 4; count++) breaker.fail("m", 0);
    expect(breaker.check("m", 0)).toEqual(ORDINARY);
    breaker.fail("m", 1000);
    expect(breaker.check("m", 30_999)).toEqual(REJECTED);

    const probe = breaker.check("m", 31_000);
    expect(probe).toMatchObject({ type: "admitted" });
    expect(breaker.check("m", 31_000)).toEqual(REJECTED);
    breaker.fail("m", 31_500);
    expect(breaker.state("m")).toBe("open");
    expect(breaker.check("m", 61_499)).toEqual(REJECTED);

    breaker.check("m", 61_500);
    breaker.succeed("m");
    expect(breaker.state("m")).toBe("closed");
    expect(breaker.failures("m")).toBe(0);
  });

  it("starts counting again after a success", () => {
    const breaker = new CircuitBreaker();
    for (let count = 0; count < 4; count++) breaker.fail("m", 0);
    breaker.succeed("m");
    breaker.fail("m", 0);
    expect(breaker.state("m")).toBe("closed");
  });

  it("answers what it would do without doing it", () => {
    const breaker = openedAt(0);
    expect(breaker.wouldAdmit("m", 29_999)).toBe(false);
    expect(breaker.wouldAdmit("m", 30_000)).toBe(true);
    expect(breaker.state("m")).toBe("open");
  });

  it("inference 31: opens again when a probe is given up, without counting it", () => {
    const breaker = openedAt(0);
    const admission = breaker.check("m", 30_000);
    if (admission.type !== "admitted") throw new Error("expected a probe");
    expect(breaker.state("m")).toBe("half-open");
    breaker.abandon("m", admission.probe);
    expect(breaker.state("m")).toBe("open");
    expect(breaker.failures("m")).toBe(5);
  });

  it("does not let a call that was no probe, or an old probe, open it again", () => {
    const breaker = openedAt(0);
    const old = breaker.check("m", 30_000);
    breaker.fail("m", 30_000);
    breaker.check("m", 60_000);
    breaker.abandon("m", 0);
    if (old.type === "admitted") breaker.abandon("m", old.probe);
    expect(breaker.state("m")).toBe("half-open");
  });

  it("admits as many probes as it was told", () => {
    const breaker = new CircuitBreaker({ failureThreshold: 1, halfOpenMax: 2 });
    breaker.fail("m", 0);
    const admitted = [1, 2, 3].map(() => breaker.check("m", 30_000).type);
    expect(admitted).toEqual(["admitted", "admitted", "rejected"]);
  });

  it("keeps its keys apart", () => {
    expect(openedAt(0).check("n", 0)).toEqual(ORDINARY);
  });
});
