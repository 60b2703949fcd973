import { messageText, threadId } from "@awaken/contract";
import { memoryStore } from "@awaken/stores/memory";
import { afterEach, expect, test, vi } from "vitest";
import * as z from "zod";
import { createRuntime } from "../create-runtime.ts";
import { text, toolCalls } from "../testing/script.ts";
import { scripted } from "../testing/scripted.ts";
import { defineTool } from "./define-tool.ts";
import { reply } from "./reply.ts";
import { seldom } from "./seldom-door.ts";

afterEach(() => void vi.restoreAllMocks());

const init = { id: "x", description: "", input: z.object({}), timeoutMs: 30 };

test.each([
  ["with words beside its data", defineTool({ ...init, execute: () => reply(1, { message: "one" }) }), "one"],
  ["that a schema checks", defineTool({ ...init, output: z.string(), execute: () => "two" }), "two"],
  ["that is no plain JSON", defineTool({ ...init, execute: () => ({ a: 3, b: undefined }) }), '{"a":3}'],
  [
    "of a class of the host",
    defineTool({ ...init, execute: () => ({ file: Buffer.from("a") }) }),
    '{"file":{"type":"Buffer","data":[97]}}',
  ],
])("a tool that answered in time did so, however long the part takes that reads its answer, %s", async (_, tool, answer) => {
  const open = seldom.open.bind(seldom);
  // A browser that has to fetch the part first.
  vi.spyOn(seldom, "open").mockImplementation(() => new Promise((resolve) => setTimeout(resolve, 80)).then(open));
  await using store = memoryStore();
  await using runtime = createRuntime({
    providers: { p: scripted([toolCalls([{ name: "x", input: {} }]), text("done")]) },
    models: { m: { provider: "p", model: "x" } },
    agents: { a: { model: "m" } },
    tools: [tool],
    log: { warn() {}, error() {} },
    workers: false,
    store,
  });
  await runtime.run({ thread: "t", input: "go" });
  const { items } = await store.messages.list(threadId("t"), {});
  expect(items.flatMap(({ message }) => (message.role === "tool" ? [messageText(message)] : []))).toEqual([answer]);
});
