import { threadId } from "@awaken/contract";
import { describe, expect, test } from "vitest";
import * as z from "zod";
import { createRuntime } from "../create-runtime.ts";
import { fakeClock } from "../testing/fake-clock.ts";
import { text, toolCall } from "../testing/script.ts";
import { type ScriptStep, scripted } from "../testing/scripted.ts";
import { defineTool } from "../tool/define-tool.ts";
import { open } from "./open.test-support.ts";
import { AT_ONCE } from "./stores.test-support.ts";

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

describe.each(AT_ONCE)("a run that comes instead of others, on %s", (_, make) => {
  test("has its thread from its first commit on, however long it takes to end what was queued there", async () => {
    let now = 10_000;
    const clock = { ...fakeClock(), now: () => ++now };
    await using store = make(() => clock.now());
    const [began, end] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const held: ScriptStep = () => {
      began.resolve();
      return { items: [{ type: "until", promise: end.promise }, ...text("instead of it").items] };
    };
    await using runtime = open(store, [held], { workers: false, clock });
    const queued = await Promise.all(["1", "2", "3"].map((input) => runtime.start({ thread: "t", input })));
    const run = runtime.stream(INSTEAD);
    await began.promise;
    expect(await store.threads.load(threadId("t"))).toMatchObject({ openRunId: run.id, latestRun: { id: run.id } });
    end.resolve();
    expect(await run.result).toMatchObject({ status: "done", text: "instead of it" });
    for (const { runId } of queued) expect(await runtime.wait(runId)).toMatchObject({ status: "cancelled" });
  });
});
