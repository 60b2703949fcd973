import { describe, expect, it } from "vitest";
import { fakeClock } from "../testing/fake-clock.ts";
import { Bounds, DEFAULT_LIMITS, type Limits, type Watch, type Work } from "./bounds.ts";
import { countedSignal } from "./counted-signal.test-support.ts";
import { watch as watchLimited } from "./limited.ts";
import type { Cut } from "./limited-parts.ts";

const work = (limit: keyof Limits, onAbort: Work["onAbort"] = "leave"): Work => ({ limit, onAbort, name: () => "it" });

function open() {
  const clock = fakeClock();
  let timers = 0;
  const counted = {
    now: () => clock.now(),
    timer: (ms: number, fire: () => void) => {
      timers += 1;
      return clock.timer(ms, fire);
    },
  };
  const { controller, counts } = countedSignal();
  const bounds = new Bounds(controller.signal, { clock: counted, limits: DEFAULT_LIMITS, cancelGraceMs: 10_000 });
  const cuts: string[] = [];
  const watch = (name: string, given: Work) => watchLimited(bounds, given, (why: Cut) => cuts.push(`${name} ${why} ${clock.now()}`));
  return { clock, controller, counts, bounds, cuts, watch, timers: () => timers };
}

/** As a tool's call waits: for the abort, without a limit. Gives what leaves. */
function onAbort(bounds: Bounds, aborted: () => void): () => void {
  const watch: Watch = { aborted };
  bounds.add(watch);
  return () => bounds.leave(watch);
}

describe("Bounds", () => {
  it("a run that holds it has one timer and one listener for a hundred waits, and leaves none", () => {
    const { clock, counts, bounds, watch, timers } = open();
    bounds.hold();
    for (let nth = 0; nth < 100; nth++) watch("store", work("storeMs", "record"))();
    expect([timers(), clock.pendingTimers, counts.added]).toEqual([1, 1, 1]);
    bounds.letGo();
    expect([clock.pendingTimers, counts.open]).toEqual([0, 0]);
  });

  it("leaves nothing behind between two waits when nobody holds it", () => {
    const { clock, counts, watch } = open();
    watch("store", work("storeMs"))();
    expect([clock.pendingTimers, counts.open]).toEqual([0, 0]);
  });

  it("each wait ends at its own time, whichever came first", async () => {
    const { clock, cuts, bounds, watch } = open();
    bounds.hold();
    watch("hook", work("hookMs"));
    watch("schema", work("schemaMs"));
    await clock.advance(20_000);
    watch("store", work("storeMs"));
    watch("done", work("gateMs"))();
    await clock.advance(200_000);
    expect(cuts).toEqual(["schema late 30000", "store late 80000", "hook late 120000"]);
    bounds.letGo();
    expect(clock.pendingTimers).toBe(0);
  });

  it("an abort cuts what is left behind at once, and gives the others what their rule says, also those that begin after it", async () => {
    const { clock, controller, cuts, watch } = open();
    watch("leave", work("hookMs"));
    watch("finish", work("hookMs", "finish"));
    watch("grace", work("hookMs", "grace"));
    watch("record", work("storeMs", "record"));
    await clock.advance(500);
    controller.abort();
    watch("after", work("hookMs"));
    watch("late", work("storeMs", "finish"));
    await clock.advance(60_000);
    const expected = ["leave cancelled 500", "after cancelled 500", "finish cancelled 1500", "late cancelled 1500"];
    expect(cuts).toEqual([...expected, "record cancelled 5500", "grace cancelled 10500"]);
    expect(clock.pendingTimers).toBe(0);
  });

  it("a wall clock that is set back or forward neither cuts a wait short nor makes it longer", async () => {
    const time = fakeClock();
    let skew = 0;
    const clock = { now: () => time.now() + skew, elapsed: () => time.now(), timer: time.timer };
    const bounds = new Bounds(new AbortController().signal, { clock, limits: DEFAULT_LIMITS, cancelGraceMs: 1 });
    const cuts: number[] = [];
    watchLimited(bounds, work("schemaMs"), () => cuts.push(time.now()));
    watchLimited(bounds, work("hookMs"), () => cuts.push(time.now()));
    skew = 3_600_000;
    await time.advance(40_000);
    skew = -3_600_000;
    watchLimited(bounds, work("gateMs"), () => cuts.push(time.now()));
    await time.advance(200_000);
    expect(cuts).toEqual([30_000, 100_000, 120_000]);
  });

  it.each([10, 1_000])("%i who wait for the abort put one listener on the signal, which goes with the last of them", (count) => {
    const { bounds, counts, timers } = open();
    const leave = Array.from({ length: count }, () => onAbort(bounds, () => {}));
    expect([counts.added, counts.open, timers()]).toEqual([1, 1, 0]);
    for (const each of leave) each();
    expect([counts.added, counts.open]).toEqual([1, 0]);
  });

  it("tells those who have not left of the abort, and who comes after it at once", () => {
    const { bounds, controller, counts } = open();
    const told: string[] = [];
    const leaves = ["a", "b", "c"].map((name) => onAbort(bounds, () => told.push(name)));
    leaves[1]?.();
    controller.abort();
    expect(told).toEqual(["a", "c"]);
    onAbort(bounds, () => told.push("late"));
    expect(told).toEqual(["a", "c", "late"]);
    expect(counts.open).toBe(0);
  });
});
