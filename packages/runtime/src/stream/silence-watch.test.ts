import { NOWHERE } from "@awaken/contract";
import { describe, expect, it } from "vitest";
import { fakeClock } from "../testing/fake-clock.ts";
import { elapsedOn, systemClock } from "./clock.ts";
import { SilenceWatch, type Speaker } from "./silence-watch.ts";

class Heard implements Speaker {
  seat = NOWHERE;
  isHeard = false;
  calls = 0;
  onSilence = () => {};

  readonly limitMs: number;
  silentSince: number;

  constructor(limitMs: number, silentSince: number) {
    this.limitMs = limitMs;
    this.silentSince = silentSince;
  }

  silent(): void {
    this.calls += 1;
    this.onSilence();
  }
}

const speaker = (limitMs: number, silentSince = 0): Heard => new Heard(limitMs, silentSince);

describe("the watch for silence", () => {
  it("never calls before the limit, and at most a 32nd of it later", async () => {
    const clock = fakeClock();
    const watch = new SilenceWatch(clock);
    const first = speaker(3_200);
    watch.add(first);
    await clock.advance(50);
    const second = speaker(3_200, clock.now());
    watch.add(second);
    await clock.advance(3_149);
    expect([first.calls, second.calls]).toEqual([0, 0]);
    await clock.advance(1);
    expect([first.calls, second.calls]).toEqual([1, 0]);
    watch.remove(first);
    await clock.advance(49);
    expect(second.calls).toBe(0);
    await clock.advance(51);
    expect(second.calls).toBe(1);
  });

  it("counts from the look that found the last word, whenever that came", async () => {
    const clock = fakeClock();
    const watch = new SilenceWatch(clock);
    const one = speaker(3_200);
    watch.add(one);
    for (let times = 0; times < 5; times++) {
      await clock.advance(3_150);
      one.isHeard = true;
      expect(one.calls).toBe(0);
    }
    const saidAt = clock.now();
    while (one.calls === 0) await clock.advance(1);
    expect(clock.now() - saidAt).toBeGreaterThanOrEqual(3_200);
    expect(clock.now() - saidAt).toBeLessThanOrEqual(3_300);
  });

  it("has one timer for all, looks as often as the shortest limit needs, and leaves none behind", async () => {
    const clock = fakeClock();
    const watch = new SilenceWatch(clock);
    const long = [speaker(60_000), speaker(60_000), speaker(120_000)];
    for (const each of long) watch.add(each);
    expect(clock.pendingTimers).toBe(1);
    const short = speaker(320);
    watch.add(short);
    expect(clock.pendingTimers).toBe(1);
    await clock.advance(320);
    expect(short.calls).toBe(1);
    watch.remove(short);
    for (const each of long) watch.remove(each);
    watch.remove(short);
    expect(clock.pendingTimers).toBe(0);
    await clock.advance(200_000);
    expect(long.map(({ calls }) => calls)).toEqual([0, 0, 0]);
  });

  it("is told to those that remain when one leaves in the middle of a look", async () => {
    const clock = fakeClock();
    const watch = new SilenceWatch(clock);
    const told: string[] = [];
    for (const name of ["a", "b", "c"]) {
      const own = speaker(320);
      own.onSilence = () => {
        told.push(name);
        watch.remove(own);
      };
      watch.add(own);
    }
    await clock.advance(320);
    expect(told).toEqual(["a", "b", "c"]);
    expect(clock.pendingTimers).toBe(0);
  });

  it("is set anew when its timer was lost", () => {
    let now = 1_000_000;
    const beats: (() => void)[] = [];
    const stopped: number[] = [];
    const watch = new SilenceWatch({
      now: () => now,
      timer: () => () => {},
      ticker(_ms, beat) {
        const place = beats.push(beat) - 1;
        return { hold() {}, rest() {}, stop: () => void stopped.push(place) };
      },
    });
    const first = speaker(3_200, now);
    watch.add(first);
    watch.remove(first);
    watch.add(speaker(3_200, now));
    expect(beats).toHaveLength(1);
    // Mocked timers went, with all that was set on them; time went back or on.
    for (const passed of [60_000, -120_000]) {
      now += passed;
      const stranded = speaker(3_200, now);
      watch.add(stranded);
      expect(beats).toHaveLength(passed > 0 ? 2 : 3);
      now += 3_200;
      beats.at(-1)?.();
      expect(stranded.calls).toBe(1);
    }
    expect(stopped).toEqual([0, 1]);
  });

  it("goes on looking, however many come that were asked long ago", async () => {
    const clock = fakeClock(1_000_000);
    const watch = new SilenceWatch(clock);
    const first = speaker(3_200, clock.now());
    watch.add(first);
    for (let times = 0; times < 34; times++) {
      await clock.advance(99);
      watch.add(speaker(60_000, clock.now() - 30_000));
    }
    expect(first.calls).toBeGreaterThan(0);
  });

  it("goes by the time that nobody can set", async () => {
    const time = fakeClock(1_000_000);
    let set = 0;
    const watch = new SilenceWatch({ now: () => time.now() + set, elapsed: () => time.now(), timer: (ms, fire) => time.timer(ms, fire) });
    const [ahead, back] = [speaker(3_200, time.now()), speaker(3_200, time.now())];
    watch.add(ahead);
    await time.advance(200);
    set = 3_600_000;
    await time.advance(200);
    expect(ahead.calls).toBe(0);
    watch.remove(ahead);
    watch.add(back);
    set = -3_600_000;
    await time.advance(3_300);
    expect(back.calls).toBeGreaterThan(0);
    watch.remove(back);
  });

  it("keeps a process alive only while somebody is watched, and stops by itself", async () => {
    const held = () => process.getActiveResourcesInfo().filter((name) => name === "Timeout").length;
    const watch = new SilenceWatch(systemClock);
    const before = held();
    const one = speaker(320, elapsedOn(systemClock));
    watch.add(one);
    expect(held()).toBe(before + 1);
    watch.remove(one);
    expect(held()).toBe(before);
    watch.add(one);
    expect(held()).toBe(before + 1);
    await new Promise<void>((resolve) => {
      one.onSilence = resolve;
    });
    const waiting = held();
    watch.remove(one);
    expect(held()).toBe(waiting - 1);
  });
});
