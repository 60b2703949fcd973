import { describe, expect, it } from "vitest";
import { redirectConsole } from "./console-redirect.ts";

describe("the console while a screen is drawn", () => {
  it("tells what is printed, and is itself again afterwards", () => {
    const { log, warn } = console;
    const told: string[] = [];
    {
      using _redirected = redirectConsole((text) => told.push(text));
      console.log("a %s", "tool", { says: 1 });
      console.warn("careful");
    }
    expect(told).toEqual(["a tool { says: 1 }", "careful"]);
    expect([console.log, console.warn]).toEqual([log, warn]);
  });
});
