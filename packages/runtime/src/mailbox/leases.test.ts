import type { QueueStore } from "@awaken/contract/store";
import { memoryStore } from "@awaken/stores/memory";
import { expect, test } from "vitest";
import * as z from "zod";
import { createRuntime } from "../create-runtime.ts";
import { fakeClock } from "../testing/fake-clock.ts";
import { text, toolCall } from "../testing/script.ts";
import { type ScriptStep, scripted } from "../testing/scripted.ts";
import { defineTool } from "../tool/define-tool.ts";

const LEASE_MS = 30_000;

/** A runtime whose idle timers and renewals are counted, with a tool that lasts as long as it is told. */
function open(turns: readonly ScriptStep[]) {
  const clock = fakeClock();
  const counts = { timers: 0, open: 0, renewals: 0, commits: 0 };
  const store = memoryStore({ clock: () => clock.now() });
  const counted: QueueStore = {
    ...store,
    commit: (commit) => {
      counts.commits += 1;
      return store.commit(commit);
    },
    dispatches: {
      ...store.dispatches,
      extendLease: (fence, ms) => {
        counts.renewals += 1;
        return store.dispatches.extendLease(fence, ms);
      },
    },
  };
  const wait = defineTool({
    id: "wait",
    description: "Waits",
    input: z.object({ ms: z.number() }),
    pure: true,
    execute: ({ ms }) => new Promise<string>((resolve) => void clock.timer(ms, () => resolve("waited"))),
  });
  const runtime = createRuntime({
    clock: {
      now: () => clock.now(),
      timer: clock.timer,
      idleTimer: (ms, fire) => {
        counts.timers += 1;
        counts.open += 1;
        const stop = clock.idleTimer?.(ms, () => {
          counts.open -= 1;
          fire();
        });
        return () => {
          counts.open -= 1;
          stop?.();
        };
      },
    },
    providers: { scripted: scripted(turns, { clock }) },
    models: { fast: { provider: "scripted", model: "m" } },
    agents: { default: { model: "fast" } },
    tools: [wait],
    log: { warn() {}, error() {} },
    store: counted,
    leaseMs: LEASE_MS,
    workers: false,
  });
  return { clock, counts, runtime, store };
}

test("a hundred runs, one after the other, set one timer, renew nothing, and commit twice each", async () => {
  const { counts, runtime } = open(Array.from({ length: 100 }, () => text("Hi")));
  for (let nth = 0; nth < 100; nth++) await runtime.run({ input: "Hi" });
  expect(counts).toEqual({ timers: 1, open: 1, renewals: 0, commits: 200 });
  await runtime[Symbol.asyncDispose]();
  expect(counts.open).toBe(0);
});

test("the timer goes off without a sequel when nothing is held by then", async () => {
  const { clock, counts, runtime } = open([text("Hi"), text("Hi")]);
  await runtime.run({ input: "Hi" });
  await clock.advance(LEASE_MS);
  expect(counts).toMatchObject({ timers: 1, open: 0, renewals: 0 });
  await runtime.run({ input: "Hi" });
  expect(counts).toMatchObject({ timers: 2, open: 1 });
});

test("a run that lasts is renewed before its lease is over, also when it begins right before the others are", async () => {
  const { clock, counts, runtime, store } = open([text("Hi"), toolCall("wait", { ms: 10 * LEASE_MS }), text("done")]);
  await runtime.run({ input: "Hi" });
  await clock.advance(LEASE_MS / 3 - 1);
  const run = runtime.run({ input: "Wait" });
  for (let step = 0; step < 100; step++) {
    await clock.advance(LEASE_MS / 10);
    const { claimed } = await store.dispatches.countByStatus();
    if (claimed > 0) expect(await store.queue.reclaimExpired(undefined, [])).toEqual([]);
  }
  expect((await run).status).toBe("done");
  expect(counts.renewals).toBe(29);
});
