import { messageText, threadId } from "@awaken/contract";
import { memoryStore } from "@awaken/stores/memory";
import { expect, test, vi } from "vitest";
import * as z from "zod";
import { createRuntime } from "../create-runtime.ts";
import { text, toolCalls } from "../testing/script.ts";
import { scripted } from "../testing/scripted.ts";
import { defineTool } from "./define-tool.ts";
import { reply } from "./reply.ts";
import { seldom } from "./seldom-door.ts";

test("a tool that answered in time did so, however long the part takes that reads its answer", async () => {
  const open = seldom.open.bind(seldom);
  // A browser that has to fetch the part first.
  vi.spyOn(seldom, "open").mockImplementation(() => new Promise((resolve) => setTimeout(resolve, 80)).then(open));
  const tool = defineTool({ id: "x", description: "", input: z.object({}), timeoutMs: 30, execute: () => reply(1, { message: "one" }) });
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
  expect(items.flatMap(({ message }) => (message.role === "tool" ? [messageText(message)] : []))).toEqual(["one"]);
});
