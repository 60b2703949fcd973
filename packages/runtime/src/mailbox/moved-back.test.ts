import { dispatchId, messageId, runId, threadId } from "@awaken/contract";
import type { QueueStore } from "@awaken/contract/store";
import { describe, expect, test } from "vitest";
import { text } from "../testing/script.ts";
import { open } from "./open.test-support.ts";
import { STORES } from "./stores.test-support.ts";

const T = threadId("t");

/** What was moved to a run of its own is taken back before anybody comes to it. */
function takingBack(store: QueueStore): QueueStore {
  const transaction: QueueStore["transaction"] = async (work) => {
    let isMoved = false;
    const done = await store.transaction((ports) =>
      work({
        ...ports,
        pending: {
          ...ports.pending,
          update: (thread, id, edit) => {
            isMoved = true;
            return ports.pending.update(thread, id, edit);
          },
        },
        commit: (commit) => ports.commit(commit),
      }),
    );
    const { entries } = await store.pending.load(T);
    if (isMoved) for (const { pendingId, revision } of entries) await store.pending.retract(T, pendingId, revision);
    return done;
  };
  return new Proxy(store, {
    get: (target, name) => (name === "transaction" ? transaction : Reflect.get(target, name, target)),
  });
}

describe.each(STORES)("messages that came too late for their run, on %s", (_, make) => {
  test("and were taken back before another run read them leave no dead letter", async () => {
    await using store = make();
    const runtime = open(takingBack(store), [text("one")]);
    const { runId: over } = await runtime.run({ thread: "t", input: "first" });
    const message = { id: messageId("m"), role: "user", content: [{ type: "text", text: "late" }] } as const;
    const deliveryMode = { boundary: "resume-input", targetRunId: runId(over), fallbackToNewRun: true } as const;
    await store.commit({
      ...{ threadId: T, runId: runId(over), pending: { append: [{ message, deliveryMode }] } },
      dispatch: { type: "enqueue", dispatch: { dispatchId: dispatchId("d"), threadId: T, runId: runId(over) } },
    });
    const rows = async () => (await store.dispatches.list(T, {})).map(({ status }) => status);
    await expect.poll(async () => (await rows()).filter((status) => status === "queued" || status === "claimed")).toEqual([]);
    expect(await rows()).not.toContain("dead-letter");
    expect(await runtime.deadLetters.list()).toMatchObject({ items: [] });
    expect((await store.pending.load(T)).entries).toEqual([]);
    await runtime.close();
  });
});
