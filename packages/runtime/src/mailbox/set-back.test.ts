import { runId } from "@awaken/contract";
import { expect, test } from "vitest";
import * as z from "zod";
import { fakeClock } from "../testing/fake-clock.ts";
import { text, toolCall } from "../testing/script.ts";
import { defineTool } from "../tool/define-tool.ts";
import { open } from "./open.test-support.ts";
import { AT_ONCE } from "./stores.test-support.ts";

// A machine whose clock somebody sets back while it works; the store, and all timers, know nothing of it.

const HOUR_MS = 3_600_000;

function setBack() {
  const clock = fakeClock(10 * HOUR_MS);
  let backMs = 0;
  return {
    ...{ clock, own: { ...clock, now: () => clock.now() - backMs } },
    set: () => {
      backMs = HOUR_MS;
    },
  };
}

test.each(AT_ONCE)("a run that is at work keeps its lease, on %s", async (_, make) => {
  const { clock, own, set } = setBack();
  await using store = make(() => clock.now());
  const [began, end] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const slow = defineTool({
    id: "slow",
    description: "",
    input: z.object({}),
    idempotent: true,
    execute: async () => {
      began.resolve();
      await end.promise;
      return "slept";
    },
  });
  await using owner = open(store, [toolCall("slow", {}), text("ended here")], { tools: [slow], clock: own, workers: false });
  await using _other = open(store, [text("taken")], { tools: [slow], clock });
  const run = owner.stream({ thread: "t", input: "x" });
  await began.promise;
  set();
  await clock.advance(120_000);
  end.resolve();
  expect(await run.result).toMatchObject({ status: "done", text: "ended here" });
});

test.each(AT_ONCE)("a worker goes on to look for what others left, on %s", async (_, make) => {
  const { clock, own, set } = setBack();
  await using store = make(() => clock.now());
  const began = Promise.withResolvers<void>();
  const slow = defineTool({
    id: "slow",
    description: "",
    input: z.object({}),
    idempotent: true,
    execute: (): Promise<string> | string => {
      began.resolve();
      return runs++ === 0 ? new Promise<string>(() => {}) : "again";
    },
  });
  let runs = 0;
  // It renews nothing, as if its process were gone.
  const dead = open(store, [toolCall("slow", {})], { tools: [slow], clock: fakeClock(10 * HOUR_MS), workers: false });
  await using _worker = open(store, [text("taken up")], { tools: [slow], clock: own });
  await clock.advance(1_000);
  dead.stream({ thread: "t", runId: "cut", input: "x" });
  await began.promise;
  set();
  await clock.advance(90_000);
  expect(await store.runs.load(runId("cut"))).toMatchObject({ status: "done" });
});
