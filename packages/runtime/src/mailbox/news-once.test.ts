import { AwakenError, threadId } from "@awaken/contract";
import type { QueueStore } from "@awaken/contract/store";
import { describe, expect, test } from "vitest";
import * as z from "zod";
import { text, toolCall } from "../testing/script.ts";
import { defineTool } from "../tool/define-tool.ts";
import { open } from "./open.test-support.ts";
import { STORES } from "./stores.test-support.ts";

const T = threadId("t");

/** The first transaction that keeps news is done, and its answer is lost; `again` resolves when they were kept, or refused, once more. */
function forgetful(store: QueueStore) {
  let tries = 0;
  const again = Promise.withResolvers<void>();
  const transaction: QueueStore["transaction"] = async (work) => {
    let isNews = false;
    try {
      const done = await store.transaction((ports) =>
        work({
          ...ports,
          commit: (commit) => {
            isNews = commit.pending?.append?.some(({ message }) => message.metadata?.task !== undefined) === true;
            return ports.commit(commit);
          },
        }),
      );
      if (isNews && tries === 0) throw new AwakenError("commit_unknown", "the cable was cut");
      return done;
    } finally {
      if (isNews && tries++ > 0) again.resolve();
    }
  };
  const given: QueueStore = new Proxy(store, {
    get: (target, name) => (name === "transaction" ? transaction : Reflect.get(target, name, target)),
  });
  return { store: given, again: again.promise };
}

describe.each(STORES)("what became of a task is told once, on %s", (_, make) => {
  test("also when the answer of the store that has it is lost, and it is tried again", async () => {
    await using store = make();
    const { store: given, again } = forgetful(store);
    const found = Promise.withResolvers<string>();
    const hire = defineTool({
      ...{ id: "hire", description: "Starts work", input: z.object({}), idempotent: true },
      execute: (_given, { tasks }) => tasks.spawn({ description: "Searches" }, () => found.promise),
    });
    const runtime = open(given, [toolCall("hire", {}), text("wait"), text("read")], { tools: [hire] });
    const first = await runtime.run({ thread: "t", input: "find" });
    expect(first).toMatchObject({ status: "waiting" });
    found.resolve("it");
    await again;
    while ((await runtime.wait(first.runId)).status === "waiting") await new Promise((resolve) => setTimeout(resolve, 2));
    const { items } = await store.messages.list(T, { visibility: "all" });
    const told = [...items, ...(await store.pending.load(T)).entries].flatMap(({ message }) => message.metadata?.task ?? []);
    expect(told).toMatchObject([{ kind: "completed", result: "it" }]);
    await runtime.close();
  });
});
