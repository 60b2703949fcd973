import { AwakenError, threadId } from "@awaken/contract";
import type { QueueStore } from "@awaken/contract/store";
import { memoryStore } from "@awaken/stores/memory";
import { describe, expect, test } from "vitest";
import * as z from "zod";
import type { RuntimeInit } from "../create-runtime.ts";
import { text, toolCall } from "../testing/script.ts";
import type { ScriptStep } from "../testing/scripted.ts";
import { defineTool } from "../tool/define-tool.ts";
import { open as openScripted } from "./open.test-support.ts";

// Whoever waits for a run that is elsewhere, or will be, can tell it to stop also while the store is down.

const add = defineTool({ id: "add", description: "", input: z.object({}), pure: true, execute: () => "2" });

const open = (store: QueueStore, turns: readonly ScriptStep[], init: Partial<RuntimeInit> = {}) =>
  openScripted(store, turns, { tools: [add], ...init });

/** A store that is down as long as it is told to be; nobody takes up work there before it is released. */
function breakable(inner: QueueStore) {
  const state = { isDown: false, refused: 0, done: 0, isReleased: true };
  const refuse = () => Promise.reject(new AwakenError("storage_io", "the database is starting up"));
  const { dispatches } = inner;
  const claim: typeof dispatches.claim = (id, given) => (state.isReleased ? dispatches.claim(id, given) : Promise.resolve(undefined));
  const store: QueueStore = {
    ...inner,
    dispatches: new Proxy(dispatches, { get: (port, key) => (key === "claim" ? claim : Reflect.get(port, key)) }),
    transaction: async (work) => {
      state.refused += state.isDown ? 1 : 0;
      const done = await (state.isDown ? refuse() : inner.transaction(work));
      state.done += 1;
      return done;
    },
  };
  return { state, store };
}

const statuses = async (store: QueueStore) => (await store.dispatches.list(threadId("t"), {})).map(({ status }) => status);

describe("an abort while the store is down", () => {
  test("reaches a run that has left", async () => {
    const inner = memoryStore();
    const { state, store } = breakable(inner);
    state.isReleased = false;
    let left = 1;
    const failing: QueueStore = {
      ...store,
      commit: async (given) => {
        if (given.run?.steps === 1 && left-- > 0) throw new AwakenError("storage_io", "the database is starting up");
        return store.commit(given);
      },
    };
    const controller = new AbortController();
    await using runtime = open(failing, [toolCall("add", {}), text("went on after all")]);
    const run = runtime.run({ thread: "t", input: "x", signal: controller.signal });
    await expect.poll(() => statuses(inner)).toEqual(["queued"]);
    Object.assign(state, { isDown: true, done: 0 });
    controller.abort();
    await expect.poll(() => state.refused).toBeGreaterThan(0);
    state.isDown = false;
    await expect.poll(() => state.done).toBeGreaterThan(0);
    state.isReleased = true;
    expect(await run).toMatchObject({ status: "cancelled" });
  });

  test("reaches a run that is queued behind another", async () => {
    const inner = memoryStore();
    const { state, store } = breakable(inner);
    const began = Promise.withResolvers<void>();
    const end = Promise.withResolvers<void>();
    const hold = defineTool({
      id: "hold",
      description: "",
      input: z.object({}),
      execute: async () => {
        began.resolve();
        await end.promise;
        return "held";
      },
    });
    const controller = new AbortController();
    await using runtime = open(store, [toolCall("hold", {}), text("first"), text("went on after all")], { tools: [hold] });
    const first = runtime.run({ thread: "t", input: "x" });
    await began.promise;
    const second = runtime.run({ thread: "t", input: "y", onBusy: "queue", signal: controller.signal });
    await expect.poll(async () => (await statuses(inner)).toSorted()).toEqual(["claimed", "queued"]);
    state.isDown = true;
    controller.abort();
    await expect.poll(() => state.refused).toBeGreaterThan(0);
    state.isDown = false;
    expect(await second).toMatchObject({ status: "cancelled" });
    end.resolve();
    expect(await first).toMatchObject({ status: "done", text: "first" });
  });
});
