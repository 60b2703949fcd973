import { afterEach, describe, expect, it, vi } from "vitest";
import { counter, createBench, plugin } from "../plugin/engine-bench.test-support.ts";
import { command } from "./command.ts";
import { whole } from "./whole-door.ts";

const total = counter("total");

const hooked = (hook: () => Promise<never>) =>
  createBench({
    plugins: [
      plugin("p", (r) => {
        r.state(total);
        r.hook("stepStart", hook);
      }),
    ],
  });

/** As in a process that has not needed the part yet. */
function notThere(load: () => Promise<never>): void {
  vi.spyOn(whole, "room", "get").mockReturnValue(undefined);
  vi.spyOn(whole, "open").mockImplementation(load);
}

afterEach(() => {
  vi.restoreAllMocks();
});

describe("a phase whose part has to be loaded first", () => {
  it("keeps what already happened also when it cannot be loaded, and says why", async () => {
    const { engine, store } = hooked(() => new Promise(() => {}));
    notThere(() => Promise.reject(new Error("too many open files")));
    await expect(engine.run("stepStart", { step: 1 }, command().update(total, 3))).rejects.toThrow("too many open files");
    expect(store.snapshot().get(total)).toBe(3);
  });

  it("a hook that fails before the part is there harms nobody, and fails the phase", async () => {
    const { engine } = hooked(() => Promise.reject(new Error("broken")));
    const there = await whole.open();
    const unhandled = vi.fn();
    process.on("unhandledRejection", unhandled);
    const loading = Promise.withResolvers<typeof there>();
    vi.spyOn(whole, "room", "get").mockReturnValueOnce(undefined);
    vi.spyOn(whole, "open").mockImplementation(() => loading.promise);
    const running = engine.run("stepStart", { step: 1 });
    for (let turn = 0; turn < 3; turn++) await new Promise(setImmediate);
    loading.resolve(there);
    await expect(running).rejects.toMatchObject({ code: "hook_failed" });
    process.off("unhandledRejection", unhandled);
    expect(unhandled).not.toHaveBeenCalled();
  });
});
