import { afterEach, expect, test, vi } from "vitest";
import { Bounds, DEFAULT_LIMITS } from "./bounds.ts";
import { systemClock } from "./clock.ts";
import { limits } from "./limits-door.ts";

afterEach(() => void vi.restoreAllMocks());

const WORK = { limit: "hookMs", onAbort: "leave", name: () => "a hook" } as const;

function open() {
  const controller = new AbortController();
  return { controller, bounds: new Bounds(controller.signal, { clock: systemClock, limits: DEFAULT_LIMITS, cancelGraceMs: 10 }) };
}

test("what comes after the abort does not count, also while the part is on its way that says so", async () => {
  const load = limits.open.bind(limits);
  vi.spyOn(limits, "open").mockImplementationOnce(() => new Promise((resolve) => setTimeout(resolve, 20)).then(load));
  const { controller, bounds } = open();
  controller.abort(new Error("stop"));
  await expect(bounds.wait(Promise.resolve(1), WORK)).rejects.toMatchObject({ code: "cancelled" });
});

test("where the part cannot be loaded it is waited for without a limit, until the run is told to stop", async () => {
  vi.spyOn(limits, "open").mockImplementation(() => Promise.reject(new Error("no such file")));
  const first = open();
  const late = Promise.withResolvers<string>();
  const waiting = first.bounds.wait(late.promise, WORK);
  await new Promise((resolve) => setTimeout(resolve, 5));
  late.resolve("there");
  expect(await waiting).toBe("there");
  const second = open();
  const hanging = second.bounds.wait(new Promise(() => {}), WORK);
  await new Promise((resolve) => setTimeout(resolve, 5));
  second.controller.abort(new Error("stop"));
  await expect(hanging).rejects.toThrow("stop");
});
