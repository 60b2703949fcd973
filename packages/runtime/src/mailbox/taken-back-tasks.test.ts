import { AwakenError, threadId } from "@awaken/contract";
import type { QueueStore } from "@awaken/contract/store";
import { describe, expect, test } from "vitest";
import * as z from "zod";
import { storedTasks } from "../state/task-records.ts";
import { text, toolCall } from "../testing/script.ts";
import { defineTool } from "../tool/define-tool.ts";
import { open } from "./open.test-support.ts";
import { STORES } from "./stores.test-support.ts";

// A step is taken back when it could not be put on record: another process makes its calls again.

const T = threadId("t");

/** The first commit behind the claims of a step fails; `posted` counts what is kept in transactions of their own. */
function failingOnce(store: QueueStore) {
  let isDown = false;
  let posted = 0;
  const commit: QueueStore["commit"] = async (given) => {
    const isStep = given.fence !== undefined && given.run?.steps === 1 && given.ledger?.claims.length !== 1;
    if (!isStep || isDown) return store.commit(given);
    isDown = true;
    throw new AwakenError("storage_io", "the database is starting up");
  };
  const transaction: QueueStore["transaction"] = async (work) => {
    const done = await store.transaction(work);
    posted += 1;
    return done;
  };
  const given: QueueStore = new Proxy(store, {
    get: (target, name) => (name === "commit" ? commit : name === "transaction" ? transaction : Reflect.get(target, name, target)),
  });
  return { store: given, posted: () => posted };
}

/** A process whose code ends when it is told so. */
function searching() {
  const [began, end] = [Promise.withResolvers<void>(), Promise.withResolvers<string>()];
  const code = defineTool({
    ...{ id: "code", description: "Starts work", input: z.object({}), idempotent: true },
    execute: (_given, { tasks }) =>
      tasks.spawn({ description: "Searches" }, () => {
        began.resolve();
        return end.promise;
      }),
  });
  return { began: began.promise, end: end.resolve, tools: [code] };
}

describe.each(STORES)("code that a step has started which was taken back, on %s", (_, make) => {
  test.each(["before", "after"])("tells nothing of its end %s the same call has started another one, which has its id", async (when) => {
    await using store = make();
    const [one, two] = [searching(), searching()];
    const failing = failingOnce(store);
    await using first = open(failing.store, [toolCall("code", {})], { tools: one.tools, workers: false });
    await first.run({ thread: "t", input: "find" });
    await one.began;
    const tell = async () => {
      const before = failing.posted();
      one.end("of nobody");
      await expect.poll(failing.posted).toBeGreaterThan(before);
    };
    if (when === "before") await tell();
    await using second = open(store, [text("wait"), text("read")], { tools: two.tools });
    await second.recover();
    await two.began;
    await expect.poll(async () => storedTasks(await store.threads.loadState(T))).toMatchObject([{ taskId: "bg_0", status: "running" }]);
    if (when === "after") await tell();
    two.end("it");
    await expect.poll(async () => (await store.threads.load(T))?.openRunId).toBeUndefined();
    const { items } = await store.messages.list(T, { visibility: "all" });
    expect(items.flatMap(({ message }) => message.metadata?.task ?? [])).toMatchObject([{ kind: "completed", result: "it" }]);
    expect((await store.pending.load(T)).entries).toEqual([]);
  });
});
