import { messageText, messageToolCalls, runIdentity } from "@awaken/contract";
import type { EventDraft, StoredEvent } from "@awaken/contract/store";
import { memoryStore } from "@awaken/stores/memory";
import { expect, test } from "vitest";
import * as z from "zod";
import { createRuntime } from "../create-runtime.ts";
import { text, toolCalls } from "../testing/script.ts";
import { scripted } from "../testing/scripted.ts";
import { defineTool } from "../tool/define-tool.ts";
import { fail, reply } from "../tool/reply.ts";

const named = z.object({ name: z.string() });
const tools = [
  defineTool({ id: "say", description: "", input: named, pure: true, execute: ({ name }) => `I am ${name}` }),
  defineTool({ id: "number", description: "", input: named, pure: true, execute: () => "42" }),
  defineTool({ id: "list", description: "", input: named, pure: true, execute: ({ name }) => ({ names: [name] }) }),
  defineTool({
    id: "brief",
    description: "",
    input: named,
    pure: true,
    execute: ({ name }) => reply({ name, size: 3 }, { message: "short", metadata: { took: 1 } }),
  }),
  defineTool({ id: "break", description: "", input: named, pure: true, execute: () => fail("no_luck", "it broke") }),
];

async function play() {
  const store = memoryStore();
  const calls = tools.map((tool) => ({ name: tool.descriptor.id, input: { name: "Ada" }, id: `of-${tool.descriptor.id}` }));
  const model = scripted([toolCalls(calls), text("All done.")]);
  const runtime = createRuntime({
    providers: { scripted: model },
    models: { fast: { provider: "scripted", model: "scripted-1" } },
    agents: { default: { model: "fast" } },
    tools,
    store,
    log: { warn() {}, error() {} },
  });
  const { runId, threadId } = await runtime.run({ thread: "t", input: "go" });
  const { items: events } = await store.events.list({ type: "run", runId }, { limit: 100 });
  const { items: messages } = await store.messages.list(threadId, { limit: 100 });
  const run = await store.runs.load(runId);
  return { events, messages: messages.map(({ message }) => message), run };
}

const payloadsOf = (events: readonly StoredEvent[], kind: EventDraft["kind"]) =>
  events.filter((event) => event.kind === kind).map(({ payload }) => payload);

test("a stored event leaves out what is stored elsewhere, and says enough to find it", async () => {
  const { events, messages, run } = await play();

  const ready = payloadsOf(events, "tool-call-ready");
  const asked = messages.flatMap(messageToolCalls);
  expect(ready).toEqual(asked.map(({ id, name }) => ({ toolCallId: id, toolName: name, ...(name === "list" ? { kind: "read" } : {}) })));
  expect(asked.map(({ input }) => input)).toEqual(tools.map(() => ({ name: "Ada" })));

  const ends = payloadsOf(events, "tool-call-done");
  const said = ends.map(({ messageId }) => messages.filter(({ id }) => id === messageId).map(messageText));
  expect(said).toEqual([["I am Ada"], ["42"], ['{"names":["Ada"]}'], ["short"], ["it broke"]]);
  expect(ends.map(({ result }) => result)).toEqual([
    { type: "success", dataIs: "text" },
    { type: "success", dataIs: "text" },
    { type: "success", dataIs: "json" },
    { type: "success", message: "short", metadata: { took: 1 }, data: { name: "Ada", size: 3 } },
    { type: "error", code: "no_luck", message: "it broke" },
  ]);

  const [begun] = events.filter(({ kind }) => kind === "run-started");
  const { threadId, runId, ...identity } = run === undefined ? expect.fail() : runIdentity(run);
  expect(begun).toMatchObject({ threadId, runId, payload: { identity } });
  expect(payloadsOf(events, "run-finished")).toEqual([{ termination: { type: "natural-end" }, tickets: [], result: { status: "done" } }]);
  expect(run).toMatchObject({ outcome: { response: "All done." } });
});
