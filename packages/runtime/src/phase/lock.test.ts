import { describe, expect, it } from "vitest";
import { latch } from "../plugin/engine-bench.test-support.ts";
import { Lock } from "./lock.ts";

describe("Lock", () => {
  it("runs one after the other, in the order of arrival", async () => {
    const lock = new Lock();
    const seen: string[] = [];
    const first = latch();
    const work = (name: string, until?: Promise<void>) =>
      lock.run(async () => {
        seen.push(`${name} begins`);
        await until;
        seen.push(`${name} ends`);
        return name;
      });
    const all = [work("a", first.opened), work("b"), work("c")];
    await new Promise((resolve) => setImmediate(resolve));
    expect(seen).toEqual(["a begins"]);
    first.open();
    expect(await Promise.all(all)).toEqual(["a", "b", "c"]);
    expect(seen).toEqual(["a begins", "a ends", "b begins", "b ends", "c begins", "c ends"]);
  });

  it("lets the next one run when one fails, and tells only the one that failed", async () => {
    const lock = new Lock();
    const results = await Promise.allSettled([
      lock.run(async () => 1),
      lock.run(() => Promise.reject(new Error("broken"))),
      lock.run(async () => 3),
    ]);
    expect(results.map((result) => (result.status === "fulfilled" ? result.value : String(result.reason)))).toEqual([
      1,
      "Error: broken",
      3,
    ]);
  });

  it("is free again as soon as the last one has ended", async () => {
    const lock = new Lock();
    expect(lock.isTaken).toBe(false);
    const running = lock.run(async () => {});
    expect(lock.isTaken).toBe(true);
    await running;
    expect(lock.isTaken).toBe(false);
    await lock.run(() => Promise.reject(new Error("broken"))).catch(() => {});
    expect(lock.isTaken).toBe(false);
  });
});
