import { expect, test } from "vitest";
import * as z from "zod";
import { createRuntime } from "../create-runtime.ts";
import { text, toolCall } from "../testing/script.ts";
import { scripted } from "../testing/scripted.ts";
import { defineTool } from "../tool/define-tool.ts";

const INSTEAD = { thread: "t", input: "instead", onBusy: "interrupt" } as const;

test("without a queue interrupt works inside the process, and queue is refused by a code", async () => {
  const began = Promise.withResolvers<void>();
  const slow = defineTool({
    id: "slow",
    description: "Lasts until its run is told to stop",
    input: z.object({}),
    execute: async (_, { signal }) => {
      began.resolve();
      await new Promise((resolve) => signal.addEventListener("abort", resolve));
      return "stopped";
    },
  });
  await using runtime = createRuntime({
    providers: { scripted: scripted([toolCall("slow", {}), text("instead of it")]) },
    models: { fast: { provider: "scripted", model: "m" } },
    agents: { default: { model: "fast" } },
    tools: [slow],
  });
  const run = runtime.stream({ thread: "t", input: "go" });
  await began.promise;
  await expect(runtime.run({ ...INSTEAD, onBusy: "queue" })).rejects.toMatchObject({ code: "capability_mismatch" });
  const both = await Promise.allSettled([runtime.run(INSTEAD), runtime.run(INSTEAD)]);
  expect(both).toMatchObject([
    { status: "fulfilled", value: { status: "done", text: "instead of it" } },
    { status: "rejected", reason: { code: "thread_already_running" } },
  ]);
  expect(await run.result).toMatchObject({ status: "cancelled" });
});
