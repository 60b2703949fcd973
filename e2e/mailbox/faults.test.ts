import { AwakenError, type ThreadId, threadId } from "@awaken/contract";
import type { QueueStore } from "@awaken/contract/store";
import type { Runtime } from "awaken";
import { text, toolCall } from "awaken/testing";
import { expect } from "vitest";
import { faulty } from "./support/faulty.ts";
import { logOf, open, slow } from "./support/open.ts";
import { onEveryStore } from "./support/stores.ts";

const SAID = "this once";

type Ask = (runtime: Runtime, thread: string) => Promise<unknown>;

const ASKS: Readonly<Record<string, Ask>> = {
  steer: (runtime, thread) => runtime.send(thread, SAID, { mode: "steer" }),
  queue: (runtime, thread) => runtime.send(thread, SAID, { mode: "queue" }),
  "send interrupt": (runtime, thread) => runtime.send(thread, SAID, { mode: "interrupt" }),
  start: (runtime, thread) => runtime.start({ thread, input: SAID }),
  "start interrupt": (runtime, thread) => runtime.start({ thread, input: SAID, onBusy: "interrupt" }),
  "run interrupt": (runtime, thread) => runtime.run({ thread, input: SAID, onBusy: "interrupt" }),
};

const CODES: ReadonlySet<string> = new Set(["storage_io", "commit_unknown", "thread_already_running", "fence_lost"]);

/** A run that is at work, in a process whose store is sound. */
async function busy(store: QueueStore, thread: ThreadId) {
  const last = slow();
  const runtime = open(store, [toolCall("slow", {}), ...Array.from({ length: 4 }, () => text("answered"))], { tools: [last.tool] });
  const run = runtime.stream({ thread, input: "go" });
  await last.began;
  return { runtime, run, release: last.release };
}

/** Brings everything that is left to its end. */
async function drain(store: QueueStore, thread: ThreadId): Promise<void> {
  await using _worker = open(
    store,
    Array.from({ length: 8 }, () => text("answered")),
    { workers: true },
  );
  await expect.poll(async () => (await store.dispatches.list(thread, { statuses: ["queued", "claimed"] })).length).toBe(0);
  expect((await store.dispatches.list(thread, { statuses: ["dead-letter"] })).length).toBe(0);
  expect((await store.pending.load(thread)).entries).toEqual([]);
  for (const run of (await store.runs.list({ threadId: thread })).items) expect(run.status).toBe("done");
}

/** Asks once with a store that fails at one call. False: there is no such call. */
async function askOnce(store: QueueStore, thread: ThreadId, ask: Ask, fault: Parameters<typeof faulty>[1]): Promise<boolean> {
  const { runtime, run, release } = await busy(store, thread);
  const broken = faulty(store, fault);
  const asker = open(
    broken.store,
    Array.from({ length: 4 }, () => text("answered")),
  );
  const asked = await ask(asker, thread).then(
    (value) => ({ value }),
    (thrown: unknown) => ({ thrown }),
  );
  broken.mend();
  await asker.close();
  release();
  await run.result;
  await drain(store, thread);
  await runtime.close();
  const said = (await logOf(store, thread)).filter((each) => each === SAID).length;
  if ("thrown" in asked) {
    expect(AwakenError.is(asked.thrown) ? asked.thrown.code : asked.thrown).toSatisfy((code) => CODES.has(String(code)));
    expect(said).toBeLessThanOrEqual(1);
  } else expect(said).toBe(1);
  return broken.hasFailed();
}

onEveryStore("a store that fails somebody who asks", (it) => {
  for (const [name, ask] of Object.entries(ASKS)) {
    for (const how of ["before", "after"] as const) {
      it(`${name}: at whatever call it fails, ${how} it is done, nothing is lost, nothing is said twice, and nothing waits for ever`, async ({
        store,
      }) => {
        for (let at = 0; ; at++) {
          if (!(await askOnce(store, threadId(`${how}-${at}`), ask, { at, how }))) break;
        }
      });
    }
  }

  it("one that does not answer is given up by a code, and what it does later is not written", async ({ store }) => {
    const asks: readonly Ask[] = [
      ...Object.values(ASKS),
      (runtime, thread) => runtime.interrupt(thread),
      (runtime, thread) => runtime.cancel(thread),
    ];
    for (const [index, ask] of asks.entries()) {
      const thread = threadId(`hangs-${index}`);
      const { runtime, run, release } = await busy(store, thread);
      const broken = faulty(store, { at: 1, how: "hang" });
      const asker = open(broken.store, [], { limits: { storeMs: 100 } });
      await expect(ask(asker, thread)).rejects.toMatchObject({ code: "storage_io" });
      broken.mend();
      release();
      await run.result;
      await drain(store, thread);
      await asker.close();
      // A lone commit may still come to be on record, as that of any run.
      const said = (await logOf(store, thread)).filter((each) => each === SAID).length;
      expect(said).toBeLessThanOrEqual(ask === ASKS["start"] ? 1 : 0);
      await runtime.close();
    }
  });
});
