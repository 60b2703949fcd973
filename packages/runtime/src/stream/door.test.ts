import { describe, expect, it } from "vitest";
import { Door, whenThere } from "./door.ts";

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
    await expect(Promise.all([door.open(), door.open()])).rejects.toThrow("offline");
    expect(await door.open()).toEqual({ tries: 2 });
  });
});
