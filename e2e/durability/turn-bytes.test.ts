import { createRuntime, defineTool } from "@awaken/runtime";
import { scripted, text, toolCall } from "@awaken/runtime/testing";
import { sqliteStore } from "@awaken/stores/sqlite";
import { expect, test } from "vitest";
import * as z from "zod";

const TURNS = 60;
const QUESTION = "Please echo the numbers one after the other, then say in a few words what you have seen on the way.";

test("a turn with a tool step and a text of 200 characters leaves at most 7 kB on SQLite", async () => {
  await using store = sqliteStore(":memory:");
  const turn = [toolCall("echo", { text: "hello", n: 0 }), text("word word ".repeat(20))];
  await using runtime = createRuntime({
    providers: { scripted: scripted(Array.from({ length: 2 * TURNS }, () => turn).flat()) },
    models: { fast: { provider: "scripted", model: "scripted-1" } },
    agents: { assistant: { model: "fast", instructions: "Use the echo tool when asked." } },
    tools: [
      defineTool({
        id: "echo",
        description: "Echo the given text back.",
        input: z.strictObject({ text: z.string(), n: z.number() }),
        pure: true,
        execute: async (input) => `${input.text}:${input.n}`,
      }),
    ],
    store,
  });
  const play = async () => {
    for (let index = 0; index < TURNS; index++) await runtime.run({ agent: "assistant", thread: "t", input: QUESTION });
    return (await store.stats()).bytes;
  };
  const before = await play();
  const after = await play();
  expect((after - before) / TURNS).toBeLessThanOrEqual(7_000);
});
