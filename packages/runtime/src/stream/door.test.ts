import { afterEach, describe, expect, it, vi } from "vitest";
import { fakeClock } from "../testing/fake-clock.ts";
import { Door, whenThere } from "./door.ts";

afterEach(() => vi.resetModules());

describe("a door", () => {
  it("loads once, for all who come at once, and gives what is loaded without a promise", async () => {
    let loads = 0;
    const door = new Door(async () => ({ number: ++loads }));
    expect(door.room).toBeUndefined();
    const [one, other] = await Promise.all([door.open(), door.open()]);
    expect(one).toBe(other);
    expect(door.open()).toBe(one);
    expect(door.room).toEqual({ number: 1 });
    expect(loads).toBe(1);
  });

  it("opens at once what is there already", () => {
    const inner = new Door(() => ({ name: "inner" }));
    const outer = new Door(() => whenThere(inner.open(), ({ name }) => ({ within: name })));
    expect(outer.open()).toEqual({ within: "inner" });
  });

  it("tries again after it could not be loaded", async () => {
    let tries = 0;
    const door = new Door(async () => {
      tries += 1;
      if (tries === 1) throw new Error("offline");
      return { tries };
    });
    await expect(Promise.all([door.open(), door.open()])).rejects.toMatchObject({
      code: "part_not_loaded",
      message: "a part is not loaded: offline",
    });
    expect(await door.open()).toEqual({ tries: 2 });
  });

  it("the clock of a test stands still while one is loaded", async () => {
    const clock = fakeClock();
    const { promise, resolve } = Promise.withResolvers<string>();
    const door = new Door(() => promise);
    const waiting = Promise.resolve(door.open()).then((room) => clock.timer(100, () => heard.push(`${room} at ${clock.now()}`)));
    const heard: string[] = [];
    const passed = clock.advance(100);
    setTimeout(() => resolve("loaded"), 1);
    await passed;
    await waiting;
    expect(heard).toEqual(["loaded at 100"]);
  });

  it("the clock of a test stands still while the memory store loads what it needs seldom", async () => {
    vi.resetModules();
    const { memoryStore } = await import("@awaken/stores/memory");
    const kit = await import("../testing/fake-clock.ts");
    const [store, clock] = [memoryStore(), kit.fakeClock()];
    const heard: unknown[] = [];
    void store.threads.list({}).then(() => heard.push(clock.now()));
    await clock.advance(100);
    expect(heard).toEqual([0]);
  });

  it("a test's time goes on when it could not be loaded", async () => {
    const clock = fakeClock();
    const door = new Door(() => Promise.reject(new Error("offline")));
    const failed = Promise.resolve(door.open()).catch(String);
    await clock.advance(1);
    expect(await failed).toBe("AwakenError: a part is not loaded: offline");
  });
});
