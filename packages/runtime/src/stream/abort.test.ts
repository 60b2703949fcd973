import { describe, expect, it, vi } from "vitest";
import { fakeClock } from "../testing/fake-clock.ts";
import { childController, onAbort, raceAbort } from "./abort.ts";
import { type Clock, systemClock } from "./clock.ts";
import { countedSignal } from "./counted-signal.test-support.ts";
import { sleep } from "./sleep.ts";

describe("onAbort", () => {
  it("calls at once when the signal has aborted, and adds no listener", () => {
    const { controller, counts } = countedSignal();
    controller.abort();
    const seen: string[] = [];
    onAbort(controller.signal, () => seen.push("now"))();
    expect(seen).toEqual(["now"]);
    expect(counts.added).toBe(0);
  });

  it("calls once on abort, and not after it was taken away", () => {
    const { controller, counts } = countedSignal();
    const seen: string[] = [];
    onAbort(controller.signal, () => seen.push("kept"));
    const off = onAbort(controller.signal, () => seen.push("taken away"));
    off();
    off();
    controller.abort();
    expect(seen).toEqual(["kept"]);
    expect(counts.open).toBe(0);
  });

  it("takes one function twice: each registration is called and taken away by itself", () => {
    const controller = new AbortController();
    let calls = 0;
    const count = () => {
      calls += 1;
    };
    const off = onAbort(controller.signal, count);
    onAbort(controller.signal, count);
    onAbort(controller.signal, count);
    off();
    controller.abort();
    expect(calls).toBe(2);
  });
});

describe("childController", () => {
  it("aborts with its parent and takes over the reason", () => {
    const parent = new AbortController();
    const { controller } = childController(parent.signal);
    parent.abort("why");
    expect(controller.signal.aborted).toBe(true);
    expect(controller.signal.reason).toBe("why");
  });

  it("is aborted from the start under an aborted parent", () => {
    expect(childController(AbortSignal.abort("why")).controller.signal.reason).toBe("why");
  });

  it("aborts alone without the parent, and lives without one", () => {
    const parent = new AbortController();
    childController(parent.signal).controller.abort();
    expect(parent.signal.aborted).toBe(false);
    const orphan = childController(undefined);
    orphan.controller.abort();
    orphan.dispose();
    expect(orphan.controller.signal.aborted).toBe(true);
  });

  it("leaves no listener on the parent after dispose, and hears nothing from it", () => {
    const { controller: parent, counts } = countedSignal();
    const children = Array.from({ length: 50 }, () => childController(parent.signal));
    expect(counts.open).toBe(50);
    for (const child of children) child.dispose();
    expect(counts.open).toBe(0);
    parent.abort();
    expect(children.some((child) => child.controller.signal.aborted)).toBe(false);
  });
});

describe("raceAbort", () => {
  it("gives the value and leaves no listener", async () => {
    const { controller, counts } = countedSignal();
    expect(await raceAbort(Promise.resolve(1), controller.signal)).toEqual({ type: "value", value: 1 });
    expect(counts.open).toBe(0);
  });

  it("passes a rejection on and leaves no listener", async () => {
    const { controller, counts } = countedSignal();
    await expect(raceAbort(Promise.reject(new Error("broken")), controller.signal)).rejects.toThrow("broken");
    expect(counts.open).toBe(0);
  });

  it("gives up on abort; what the promise does later is nobody's business", async () => {
    const { controller, counts } = countedSignal();
    const { promise, reject } = Promise.withResolvers<number>();
    const race = raceAbort(promise, controller.signal);
    controller.abort();
    expect(await race).toEqual({ type: "aborted" });
    reject(new Error("late"));
    await new Promise((resolve) => setTimeout(resolve, 5));
    expect(counts.open).toBe(0);
  });

  it("prefers an abort that was there before", async () => {
    expect(await raceAbort(Promise.resolve(1), AbortSignal.abort())).toEqual({ type: "aborted" });
  });
});

describe("sleep", () => {
  it("waits its time on the clock and leaves no timer and no listener", async () => {
    const clock = fakeClock();
    const { controller, counts } = countedSignal();
    const sleeping = sleep(clock, 100, controller.signal);
    await clock.advance(99);
    expect(clock.pendingTimers).toBe(1);
    await clock.advance(1);
    expect(await sleeping).toBe(true);
    expect([clock.pendingTimers, counts.open]).toEqual([0, 0]);
  });

  it("answers false on abort, and leaves no timer and no listener", async () => {
    const clock = fakeClock();
    const { controller, counts } = countedSignal();
    const sleeping = sleep(clock, 100, controller.signal);
    controller.abort();
    expect(await sleeping).toBe(false);
    expect([clock.pendingTimers, counts.open]).toEqual([0, 0]);
    expect(await sleep(clock, 100, controller.signal)).toBe(false);
    expect(clock.pendingTimers).toBe(0);
  });

  it("works without a signal, and with a clock that fires at once", async () => {
    const immediate: Clock = {
      now: () => 0,
      timer(_, fire) {
        fire();
        return () => {};
      },
    };
    const { controller, counts } = countedSignal();
    expect(await sleep(immediate, 1)).toBe(true);
    expect(await sleep(immediate, 1, controller.signal)).toBe(true);
    expect(counts.open).toBe(0);
  });
});

describe("systemClock", () => {
  it("fires after its time, unless it is taken back", async () => {
    const before = systemClock.now();
    let fired = 0;
    systemClock.timer(1, () => {
      fired += 1;
    })();
    await new Promise<void>((resolve) => systemClock.timer(5, resolve));
    expect(fired).toBe(0);
    expect(systemClock.now()).toBeGreaterThanOrEqual(before);
  });

  it("waits longer than one host timer can, and can be taken back all that time", () => {
    vi.useFakeTimers();
    try {
      const day = 24 * 3_600_000;
      let fired = 0;
      const start = () =>
        systemClock.timer(60 * day, () => {
          fired += 1;
        });
      start();
      const stop = start();
      vi.advanceTimersByTime(59 * day);
      expect(fired).toBe(0);
      stop();
      vi.advanceTimersByTime(day);
      expect(fired).toBe(1);
      expect(vi.getTimerCount()).toBe(0);
    } finally {
      vi.useRealTimers();
    }
  });
});
