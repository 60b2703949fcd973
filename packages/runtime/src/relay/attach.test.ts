import { threadId } from "@awaken/contract";
import { memoryStore } from "@awaken/stores/memory";
import { afterEach, expect, it, vi } from "vitest";
import { createRuntime } from "../create-runtime.ts";
import { Relays } from "./relays.ts";

afterEach(() => {
  vi.restoreAllMocks();
});

it("a reader who has left before he is there, or while what he follows is looked up, leaves nothing behind that waits for him", async () => {
  let waiting = 0;
  vi.spyOn(Relays.prototype, "expect").mockImplementation(() => {
    waiting += 1;
    return () => {
      waiting -= 1;
    };
  });
  await using store = memoryStore();
  await store.threads.create({ id: threadId("t") });
  await using runtime = createRuntime({ store });
  const leaving = new AbortController();
  const early = Array.fromAsync(runtime.attach("t", { signal: AbortSignal.abort() }));
  const late = Array.fromAsync(runtime.attach("t", { signal: leaving.signal }));
  leaving.abort();
  expect(await Promise.all([early, late])).toEqual([[], []]);
  expect(waiting).toBe(0);
});
