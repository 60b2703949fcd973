import { messageText, threadId } from "@awaken/contract";
import type { QueueStore } from "@awaken/contract/store";
import { describe, expect, test } from "vitest";
import { text } from "../testing/script.ts";
import { open } from "./open.test-support.ts";
import { STORES } from "./stores.test-support.ts";

/** Its commits wait until they are let through; `reached` resolves with the first. */
function gated(store: QueueStore) {
  const [reached, through] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const commit: QueueStore["commit"] = async (given) => {
    reached.resolve();
    await through.promise;
    return store.commit(given);
  };
  const given: QueueStore = new Proxy(store, {
    get: (target, name) => (name === "commit" ? commit : Reflect.get(target, name, target)),
  });
  return { store: given, reached: reached.promise, letThrough: through.resolve };
}

describe.each(STORES)("a run that is asked for twice, on %s", (_, make) => {
  // On its own thread, which somebody had meanwhile, it reads again, and is told what anybody is told who comes when the run is there.
  test.each([
    ["t", { code: "invalid_resume", message: "invalid resume: run_id_hint 'r' already exists as a run" }],
    ["another", { code: "storage_already_exists", details: { runId: "r" } }],
  ])("is there once: who was later, on thread %s, is refused, and nobody is alarmed", async (thread, why) => {
    await using store = make();
    const errors: string[] = [];
    const { store: late, reached, letThrough } = gated(store);
    const a = open(store, [text("first")], { workers: false });
    const b = open(late, [text("second")], { workers: false, log: { warn() {}, error: (message) => void errors.push(message) } });
    const second = b.run({ thread, runId: "r", input: "hello" });
    const refused = expect(second).rejects.toMatchObject(why);
    await reached;
    expect(await a.run({ thread: "t", runId: "r", input: "hello" })).toMatchObject({ status: "done", text: "first" });
    letThrough();
    await refused;
    expect(errors).toEqual([]);
    const { items } = await store.messages.list(threadId("t"), {});
    expect(items.map(({ message }) => messageText(message))).toEqual(["hello", "first"]);
    expect((await store.messages.list(threadId("another"), {})).items).toEqual([]);
    await a.close();
    await b.close();
  });
});
