import { type Message, messageId, type TaskEvent, threadId } from "@awaken/contract";
import { memoryStore } from "@awaken/stores/memory";
import { describe, expect, it } from "vitest";
import * as z from "zod";
import { createRuntime } from "../create-runtime.ts";
import { definePlugin } from "../plugin/define-plugin.ts";
import type { InboxItem } from "../plugin/inbox.ts";
import { countingIds, fakeClock } from "../testing/fake-clock.ts";
import { runScripted } from "../testing/run-scripted.ts";
import { text, toolCall } from "../testing/script.ts";
import { scripted } from "../testing/scripted.ts";
import { defineTool } from "../tool/define-tool.ts";

const noop = defineTool({ id: "noop", description: "", input: z.object({}), execute: () => "fine" });

/** Changes every text and list in it that can be changed. */
function vandalise(value: unknown): void {
  if (typeof value !== "object" || value === null) return;
  for (const [name, item] of Object.entries(value)) {
    if (typeof item === "object") vandalise(item);
    else if (name !== "type" && name !== "role") Reflect.set(value, name, "vandalised");
  }
  Reflect.set(value, Array.isArray(value) ? value.length : "more", "vandalised");
}

const MESSAGE = (): Message => ({
  id: messageId("p1"),
  role: "user",
  content: [{ type: "text", text: "psst" }],
  metadata: { senderAgentId: "x" },
});
const TASK = (): TaskEvent => ({ kind: "completed", taskId: "k1", result: { deep: ["here"] } });
const SUMMARY = (): Message => ({ id: messageId("s1"), role: "user", visibility: "internal", content: [{ type: "text", text: "so far" }] });

const ITEMS: Readonly<Record<string, () => { readonly own: object; readonly item: InboxItem }>> = {
  "a message": () => {
    const own = [MESSAGE()];
    return { own, item: { type: "messages", messages: own } };
  },
  "news of a task": () => {
    const own = TASK();
    return { own, item: { type: "task", event: own } };
  },
  "a summary": () => {
    const own = SUMMARY();
    return {
      own,
      item: { type: "compaction", notice: { swap: () => ({ upTo: messageId("m1"), summary: own }), bookkeep: () => undefined } },
    };
  },
};

/** What the model is shown and what is on record, when a plugin sends something of its own and changes it at these moments. */
async function tell(make: (typeof ITEMS)[string], isEdited: { readonly atOnce: boolean; readonly later: boolean }) {
  const { own, item } = make();
  const plugin = definePlugin({
    id: "p",
    register: (registrar) =>
      registrar.hook("stepEnd", ({ step }) => {
        if (step > 1 && isEdited.later) vandalise(own);
        return undefined;
      }),
    onBind: (run) => {
      run.send(item);
      if (isEdited.atOnce) vandalise(own);
      return undefined;
    },
  });
  const model = scripted([toolCall("noop", {}, { id: "c1" }), toolCall("noop", {}, { id: "c2" }), text("done")]);
  const store = memoryStore();
  await using runtime = createRuntime({
    providers: { main: model },
    models: { fast: { provider: "main", model: "m" } },
    agents: { a: { model: "fast", plugins: ["p"] } },
    plugins: [plugin],
    tools: [noop],
    store,
    workers: false,
    ids: countingIds("id"),
    clock: fakeClock(1_000),
  });
  const input = [{ role: "user" as const, content: [{ type: "text" as const, text: "Hi" }], id: "m1" }];
  const { status } = await runtime.run({ agent: "a", thread: "t", input });
  const log = await store.messages.list(threadId("t"), { visibility: "all", limit: 50 });
  return {
    status,
    requests: model.requests.map(({ messages }) => JSON.stringify(messages)),
    log: JSON.stringify(log.items.map(({ message }) => message)),
    own,
  };
}

const cycle: unknown[] = [];
cycle.push(cycle);

it.each<[string, unknown]>([
  ["a date", new Date(0)],
  ["a map", new Map()],
  ["a list in itself", cycle],
  ["a function", () => {}],
])("%s in what a plugin sends is refused where it sends it, and the run goes on", async (_, result) => {
  const refused: unknown[] = [];
  const event = Object.assign(TASK(), { result });
  const plugin = definePlugin({
    id: "p",
    register() {},
    onBind: (run) => {
      try {
        run.send({ type: "task", event });
      } catch (thrown) {
        refused.push(thrown);
      }
      return undefined;
    },
  });
  const one = await runScripted({ turns: [text("done")], plugins: [plugin] });
  expect(one.result).toMatchObject({ text: "done", status: "done" });
  expect(refused).toMatchObject([{ code: "invalid_plugin" }]);
});

describe.each(Object.entries(ITEMS))("%s that a plugin sends", (name, make) => {
  it("is the run's own: what the plugin does to it later reaches neither the records nor the model, and it is not frozen", async () => {
    const quiet = await tell(make, { atOnce: false, later: false });
    expect(quiet.status).toBe("done");
    expect(Object.isFrozen(quiet.own)).toBe(false);
    // A summary is asked for when the run has room for it.
    const edited = await tell(make, { atOnce: name !== "a summary", later: true });
    expect(JSON.stringify(edited.own)).toContain("vandalised");
    expect(edited.requests).toEqual(quiet.requests);
    expect(edited.log).toEqual(quiet.log);
  });
});
