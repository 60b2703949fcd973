import { AwakenError, messageText, threadId } from "@awaken/contract";
import type { Store } from "@awaken/contract/store";
import { memoryStore } from "@awaken/stores/memory";
import { expect, test } from "vitest";
import * as z from "zod";
import { createRuntime } from "../create-runtime.ts";
import { text, toolCalls } from "../testing/script.ts";
import { scripted } from "../testing/scripted.ts";
import { defineTool } from "../tool/define-tool.ts";
import { ask } from "../tool/verdict.ts";

test("a message that a run took, and stopped for a ticket before it read it, is in the log", async () => {
  const errors: string[] = [];
  await using store = memoryStore();
  const sent: unknown[] = [];
  const look = defineTool({
    id: "look",
    description: "",
    input: z.object({}),
    execute: async () => void sent.push((await runtime.send("t", "and one more thing")).status),
  });
  const pay = defineTool({ id: "pay", description: "", input: z.object({}), approve: () => ask("Pay?"), execute: () => undefined });
  const calls = toolCalls([
    { name: "look", input: {} },
    { name: "pay", input: {} },
  ]);
  const runtime = createRuntime({
    providers: { p: scripted([calls, text("done")]) },
    models: { m: { provider: "p", model: "x" } },
    agents: { a: { model: "m" } },
    tools: [look, pay],
    log: { warn() {}, error: (message) => void errors.push(message) },
    workers: false,
    store,
  });
  expect((await runtime.run({ thread: "t", input: "go" })).status).toBe("waiting");
  expect(sent).toEqual(["steered"]);
  expect(errors).toEqual([]);
  const said = (await store.messages.list(threadId("t"), {})).items.flatMap(({ message }) =>
    message.role === "user" ? [messageText(message)] : [],
  );
  expect(said).toEqual(["go", "and one more thing"]);
  await runtime.close();
});

test("a run that ends takes no message behind its last look: what it has taken is in the log, and whoever is later is told so", async () => {
  await using inner = memoryStore();
  const [beginning, keeping] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const [refused, kept] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  let commits = 0;
  const commit: Store["commit"] = async (given) => {
    commits += 1;
    if (commits === 1) {
      beginning.resolve();
      await refused.promise;
      throw new AwakenError("storage_already_exists", "somebody else has begun it");
    }
    keeping.resolve();
    await kept.promise;
    return inner.commit(given);
  };
  const runtime = createRuntime({
    providers: { p: scripted([]) },
    models: { m: { provider: "p", model: "x" } },
    agents: { a: { model: "m" } },
    log: { warn() {}, error() {} },
    workers: false,
    store: { ...inner, commit },
  });
  const running = runtime.run({ thread: "t", input: "go" });
  await beginning.promise;
  expect((await runtime.send("t", "taken")).status).toBe("steered");
  refused.resolve();
  await keeping.promise;
  expect((await runtime.send("t", "late")).status).toBe("refused");
  kept.resolve();
  await expect(running).rejects.toMatchObject({ code: "storage_already_exists" });
  const { items } = await inner.messages.list(threadId("t"), {});
  expect(items.map(({ message }) => messageText(message))).toEqual(["taken"]);
  await runtime.close();
});
