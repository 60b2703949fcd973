import { threadId } from "@awaken/contract";
import type { QueueStore } from "@awaken/contract/store";
import { describe, expect, test } from "vitest";
import * as z from "zod";
import { definePlugin } from "../plugin/define-plugin.ts";
import { text, toolCall } from "../testing/script.ts";
import { defineTool } from "../tool/define-tool.ts";
import { open } from "./open.test-support.ts";
import { STORES } from "./stores.test-support.ts";

const T = threadId("t");

/** The process dies behind the commit that parks its run: nothing that it asks for comes to be any more. */
function dyingBehindPark(store: QueueStore) {
  const dead = Promise.withResolvers<void>();
  let isDead = false;
  const never = () => new Promise<never>(() => {});
  const commit: QueueStore["commit"] = async (given) => {
    if (isDead) return never();
    const result = await store.commit(given);
    if (given.run?.status !== "waiting") return result;
    isDead = true;
    dead.resolve();
    return never();
  };
  const transaction: QueueStore["transaction"] = (work) => (isDead ? never() : store.transaction(work));
  const given: QueueStore = new Proxy(store, {
    get: (target, name) => (name === "commit" ? commit : name === "transaction" ? transaction : Reflect.get(target, name, target)),
  });
  return { store: given, dead: dead.promise };
}

describe.each(STORES)("a task that is over before its run has begun to wait for it, on %s", (_, make) => {
  test("wakes the run when its process died before the end was told: whoever goes on finds that it was lost", async () => {
    await using store = make();
    const end = Promise.withResolvers<string>();
    const code = defineTool({
      ...{ id: "code", description: "Starts work", input: z.object({}), idempotent: true },
      execute: (_given, { tasks }) => tasks.spawn({ description: "Searches" }, () => end.promise),
    });
    // Behind the last look for news.
    const late = definePlugin({
      id: "late",
      register: (r) =>
        r.hook("runEnd", async () => {
          end.resolve("found");
          await new Promise(setImmediate);
        }),
    });
    const agents = { default: { model: "fast", plugins: ["late"] } };
    const gone = { name: "gone", isGone: () => false };
    const dying = dyingBehindPark(store);
    const first = open(dying.store, [toolCall("code", {}), text("wait")], {
      ...{ tools: [code], plugins: [late], agents, node: gone, workers: false },
    });
    const cut = first.stream({ thread: "t", input: "find" });
    await dying.dead;
    await using second = open(store, [text("read")], {
      ...{ tools: [code], plugins: [late], agents, node: { name: "next", isGone: (name: string) => name === gone.name } },
    });
    await second.recover();
    await expect.poll(async () => (await store.threads.load(T))?.openRunId).toBeUndefined();
    expect(await store.runs.load(cut.id)).toMatchObject({ status: "done", outcome: { termination: { type: "natural-end" } } });
    const { items } = await store.messages.list(T, { visibility: "all" });
    expect(items.flatMap(({ message }) => message.metadata?.task ?? [])).toMatchObject([{ taskId: "bg_0", kind: "failed" }]);
  });

  test("is read by the run when it ends while the answer is judged: nobody waits for what is there", async () => {
    await using store = make();
    const end = Promise.withResolvers<string>();
    const code = defineTool({
      ...{ id: "code", description: "Starts work", input: z.object({}), idempotent: true },
      execute: (_given, { tasks }) => tasks.spawn({ description: "Searches" }, () => end.promise),
    });
    const output = z.object({ n: z.number() }).refine(async () => {
      end.resolve("found");
      await new Promise(setImmediate);
      return true;
    });
    await using runtime = open(store, [toolCall("code", {}), text('{"n":1}'), text('{"n":2}')], { tools: [code], workers: false });
    const result = await runtime.run({ thread: "t", input: "find", output });
    expect(result).toMatchObject({ status: "done", output: { n: 2 } });
    const { items } = await store.messages.list(T, { visibility: "all" });
    expect(items.flatMap(({ message }) => message.metadata?.task ?? [])).toMatchObject([{ kind: "completed", result: "found" }]);
  });
});
