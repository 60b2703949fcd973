import { threadId } from "@awaken/contract";
import type { QueueStore } from "@awaken/contract/store";
import { expect, test } from "vitest";
import { createRuntime, type RuntimeInit } from "../create-runtime.ts";
import { type FakeClock, fakeClock } from "../testing/fake-clock.ts";
import { text } from "../testing/script.ts";
import { scripted } from "../testing/scripted.ts";
import { openPostgres } from "./stores.test-support.ts";

// The same as in `mailbox.test.ts`, on a store that has to be waited for: time moves until the fact is there.

const T = threadId("t");

const open = (store: QueueStore, clock: FakeClock, init: Partial<RuntimeInit> = {}) =>
  createRuntime({
    providers: { scripted: scripted([text("known here")]) },
    models: { fast: { provider: "scripted", model: "m" } },
    agents: { default: { model: "fast" } },
    log: { warn() {}, error() {} },
    limits: { storeMs: 3_600_000_000 },
    leaseMs: 3_600_000,
    clock,
    store,
    ...init,
  });

const rows = (store: QueueStore) => store.dispatches.list(T, {});

test("a run of an agent that the node does not know is put back for five seconds, uses up no attempt, and is taken by a node that knows it, on postgres", async () => {
  const clock = fakeClock(1_000);
  await using store = openPostgres(() => clock.now());
  await using one = open(store, clock);
  const { runId: id } = await one.start({ agent: "elsewhere", thread: "t", input: "x" });
  await expect.poll(() => rows(store)).toMatchObject([{ status: "queued", attemptCount: 0, availableAt: 6_000 }]);
  await one.close();
  await using two = open(store, clock, { agents: { elsewhere: { model: "fast" } } });
  await expect
    .poll(async () => {
      await clock.advance(5_000);
      return (await rows(store)).map(({ status }) => status);
    })
    .toEqual(["acked"]);
  expect(await two.wait(id)).toMatchObject({ status: "done", text: "known here" });
  expect(await rows(store)).toMatchObject([{ status: "acked", attemptCount: 0 }]);
});

test("it is a dead letter after ten minutes, and not before, on postgres", async () => {
  const clock = fakeClock(1_000);
  await using store = openPostgres(() => clock.now());
  await using one = open(store, clock);
  const { runId: id } = await one.start({ agent: "elsewhere", thread: "t", input: "x" });
  await expect
    .poll(async () => {
      await clock.advance(5_000);
      return (await rows(store)).map(({ status }) => status);
    })
    .toEqual(["dead-letter"]);
  const [{ createdAt, updatedAt } = expect.fail()] = await rows(store);
  expect(updatedAt - createdAt).toBeGreaterThan(600_000);
  expect(await one.wait(id)).toMatchObject({
    status: "failed",
    error: { code: "dead_letter", message: expect.stringContaining("elsewhere") },
  });
});
