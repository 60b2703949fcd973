import { AwakenError, runId, threadId } from "@awaken/contract";
import type { QueueStore } from "@awaken/contract/store";
import { describe, expect, test } from "vitest";
import * as z from "zod";
import { createRuntime, type RuntimeInit } from "../create-runtime.ts";
import { text, toolCall } from "../testing/script.ts";
import { type ScriptStep, scripted } from "../testing/scripted.ts";
import { defineTool } from "../tool/define-tool.ts";
import { STORES } from "./stores.test-support.ts";

const T = threadId("t");

function open(store: QueueStore, turns: readonly ScriptStep[], init: Partial<RuntimeInit> = {}) {
  return createRuntime({
    providers: { scripted: scripted(turns) },
    models: { fast: { provider: "scripted", model: "m" } },
    agents: { default: { model: "fast" } },
    log: { warn() {}, error() {} },
    store,
    ...init,
  });
}

/** Refuses the first so many commits that end a run. */
function refusingEnds(store: QueueStore, times: number): QueueStore {
  let left = times;
  return {
    ...store,
    commit: async (given) => {
      if (given.dispatch?.type === "ack" && left-- > 0) throw new AwakenError("storage_io", "the disk is full");
      return store.commit(given);
    },
  };
}

describe.each(STORES)("a run in whose midst the store fails for a moment, on %s", (_, make) => {
  test("server-and-durability 29: is tried again from its last commit, and does not end with that", async () => {
    await using store = make();
    let left = 1;
    const failing: QueueStore = {
      ...store,
      commit: async (given) => {
        const isMidst = given.fence !== undefined && given.dispatch === undefined && given.run !== undefined && given.run.steps > 0;
        if (isMidst && left-- > 0) throw new AwakenError("storage_io", "the database is starting up");
        return store.commit(given);
      },
    };
    const add = defineTool({ id: "add", description: "", input: z.object({}), pure: true, execute: () => "2" });
    await using runtime = open(failing, [toolCall("add", {}), toolCall("add", {}), text("done")], { tools: [add] });
    const { runId: id } = await runtime.start({ thread: "t", input: "x" });
    expect(await runtime.wait(id)).toMatchObject({ status: "done", text: "done" });
    expect(await store.dispatches.list(T, {})).toMatchObject([{ status: "acked", attemptCount: 1 }]);
  });
});

describe.each(STORES)("a run whose last commit fails, on %s", (_, make) => {
  test("server-and-durability 29: whoever waits for it is told its end, and not of the try that failed", async () => {
    await using store = make();
    await using runtime = open(refusingEnds(store, 1), [text("lost"), text("kept")]);
    const { runId: id } = await runtime.start({ thread: "t", input: "x" });
    expect(await runtime.wait(id)).toMatchObject({ status: "done", text: "kept" });
    expect(await store.dispatches.list(T, {})).toMatchObject([{ status: "acked", attemptCount: 1 }]);
  });

  test("also when it was begun in the foreground: whoever began it is told of the failure", async () => {
    await using store = make();
    await using runtime = open(refusingEnds(store, 1), [text("lost"), text("kept")]);
    const run = runtime.stream({ thread: "t", input: "x", runId: "r" });
    expect(await run.result).toMatchObject({ status: "failed", error: { code: "storage_io" } });
    expect(await runtime.wait("r")).toMatchObject({ status: "done", text: "kept" });
  });

  test("server-and-durability 32: on its last try is a dead letter and over, in the foreground and from the queue", async () => {
    await using store = make();
    await using runtime = open(refusingEnds(store, 2), [text("lost"), text("lost")], { maxAttempts: 1 });
    const over = { status: "done", outcome: { termination: { type: "error", code: "dead_letter" } } };
    await runtime.run({ thread: "t", input: "x", runId: "r1" });
    expect(await store.runs.load(runId("r1"))).toMatchObject(over);
    await runtime.start({ thread: "t", input: "x", runId: "r2" });
    expect(await runtime.wait("r2")).toMatchObject({ status: "failed", error: { code: "dead_letter" } });
    expect((await runtime.deadLetters.list()).items.map((letter) => letter.runId)).toEqual(["r1", "r2"]);
  });

  test("and whose process is gone on the last try ends with the dead letter, whoever finds it", async () => {
    await using store = make();
    const cut = Promise.withResolvers<void>();
    const dying: QueueStore = {
      ...store,
      commit: (given) => (given.dispatch?.type === "ack" ? cut.promise.then(() => store.commit(given)) : store.commit(given)),
    };
    const node = (name: string, gone: readonly string[] = []) => ({ name, isGone: (other: string) => gone.includes(other) });
    const first = open(dying, [text("lost")], { maxAttempts: 1, workers: false, node: node("first") });
    const lost = first.run({ thread: "t", input: "x", runId: "r" });
    await expect.poll(async () => (await store.dispatches.list(T, {})).map(({ status }) => status)).toEqual(["claimed"]);
    await using next = open(store, [text("hello")], { workers: false, node: node("next", ["first"]) });
    expect(await next.run({ thread: "t", input: "y" })).toMatchObject({ status: "done", text: "hello" });
    expect(await store.runs.load(runId("r"))).toMatchObject({
      status: "done",
      outcome: { termination: { type: "error", code: "dead_letter" } },
    });
    cut.resolve();
    await lost;
    await first.close();
  });
});
