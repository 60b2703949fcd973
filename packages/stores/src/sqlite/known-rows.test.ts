import { symlinkSync } from "node:fs";
import { join } from "node:path";
import type { Fence, QueueStore } from "@awaken/contract/store";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { ACKED, append, dispatch, event, R1, runs, T1, T2, takeNext, user, WORKER, write } from "../conformance/records.ts";
import { failure } from "../conformance/world.ts";
import { sqliteStore } from "./store.ts";
import { openTestStore, tempFolder } from "./test-store.ts";

// What a connection wrote last it does not read again, unless somebody may have written since.

let folder: ReturnType<typeof tempFolder>;
let store: QueueStore;
let others: readonly QueueStore[];
let seq: number;

const open = (name: string) => sqliteStore(join(folder.path, name), { synchronous: "normal" });

beforeEach(() => {
  folder = tempFolder();
  seq = 0;
  store = open("a.db");
  // By another name it is another connection, as that of another process is.
  symlinkSync(join(folder.path, "a.db"), join(folder.path, "b.db"));
  others = [open("a.db"), open("b.db")];
});
afterEach(async () => {
  for (const each of [store, ...others]) await each.close();
  folder.remove();
});

/** One more message, two events, and the run. */
function step(more: Partial<Parameters<QueueStore["commit"]>[0]> = {}) {
  const run = runs.running({ updatedAt: seq + 2, steps: seq });
  return append(seq, [user(`m${++seq}`)], { run, events: [event("a"), event("b")], ...more });
}

const numbersOf = async (committing: ReturnType<QueueStore["commit"]>) =>
  (await committing).events.map(({ cursors }) => `${cursors.thread?.split(".")[0]} ${cursors.run?.split(".")[0]}`);

/** Who may write meanwhile: this store, another one with the same connection, one with its own. */
const WRITERS = [
  ["the store itself", () => store],
  ["another store of the file", () => others[0] ?? expect.fail()],
  ["another connection", () => others[1] ?? expect.fail()],
] as const;

describe.each(WRITERS)("what is known of a thread when %s has", (_, writer) => {
  beforeEach(async () => {
    await store.commit(step());
    expect(await numbersOf(store.commit(step()))).toEqual(["t3 r3", "t4 r4"]);
  });

  test("committed", async () => {
    await writer().commit(step());
    seq = 2;
    await failure(store.commit(step()), "message_version_conflict");
    expect(await numbersOf(store.commit(step()))).toEqual(["t7 r7", "t8 r8"]);
  });

  test("ended the run", async () => {
    await writer().commit(write(runs.done({ updatedAt: 9 })));
    await failure(store.commit(step()), "illegal_transition");
  });

  test("appended events", async () => {
    await writer().events.append([event("c")]);
    expect(await numbersOf(store.commit(step()))).toEqual(["t6 r6", "t7 r7"]);
  });

  test("swept all of its events", async () => {
    await writer().sweep({ eventsMs: -1_000 });
    expect((await store.events.list({ type: "thread", threadId: T1 }, {})).items).toEqual([]);
    expect(await numbersOf(store.commit(step()))).toEqual(["t5 r5", "t6 r6"]);
  });

  test("named it", async () => {
    await writer().threads.update(T1, { title: "March" });
    await store.commit(step());
    expect((await store.threads.load(T1))?.metadata.title).toBe("March");
  });

  test("deleted it", async () => {
    await store.commit(write(runs.done({ updatedAt: 9 })));
    await writer().threads.delete(T1, "detach");
    await failure(store.commit(step()), "message_version_conflict");
    seq = 0;
    expect(await numbersOf(store.commit(step()))).toEqual(["t1 r1", "t2 r2"]);
  });

  test("a wish for its run", async () => {
    const wished = await writer().wishes.append({ type: "cancel", threadId: T1, runId: R1, wishId: "w1" });
    expect((await store.commit(step())).hasWishes).toBe(true);
    expect((await store.commit(step({ takes: [wished.wish.wishId] }))).hasWishes).toBe(false);
    expect((await store.commit(step())).hasWishes).toBe(false);
  });

  test("claimed it", async () => {
    await writer().dispatches.enqueue(dispatch("d1"));
    await takeNext(writer(), T1, WORKER);
    await failure(store.commit(step()), "fence_lost");
  });

  test("taken back what it committed", async () => {
    const taken = writer().transaction(async ({ commit }) => {
      await commit(step());
      await commit({ threadId: T2, runId: R1, messageDelta: { messages: [user("x")], expectedMessageCount: 0 } });
      throw new Error("never mind");
    });
    await expect(taken).rejects.toThrow("never mind");
    seq = 2;
    expect(await numbersOf(store.commit(step()))).toEqual(["t5 r5", "t6 r6"]);
    await store.commit({ threadId: T2, runId: R1, messageDelta: { messages: [user("x")], expectedMessageCount: 0 } });
  });
});

describe.each(WRITERS)("what is known of a claimed thread when %s has", (_, writer) => {
  let fence: Fence;
  beforeEach(async () => {
    await store.dispatches.enqueue(dispatch("d1"));
    const claimed = (await takeNext(store, T1, WORKER)) ?? expect.fail();
    fence = { dispatchId: claimed.dispatchId, claimToken: claimed.claimToken };
    await store.commit(step({ fence }));
    await store.commit(step({ fence }));
  });

  test("interrupted it", async () => {
    await writer().dispatches.interrupt(T1);
    await failure(store.commit(step({ fence })), "fence_lost");
  });

  test("let go of it", async () => {
    await writer().dispatches.release(fence);
    await failure(store.commit(step({ fence })), "fence_lost");
    seq--;
    await store.commit(step());
  });

  test("settled it in a commit", async () => {
    await writer().commit(step({ fence, dispatch: { type: "ack", result: ACKED } }));
    await failure(store.commit(step({ fence })), "fence_lost");
    seq--;
    await store.commit(step());
  });

  test("let it be claimed again", async () => {
    await writer().dispatches.release(fence);
    const again = (await takeNext(writer(), T1, WORKER)) ?? expect.fail();
    await failure(store.commit(step({ fence })), "fence_lost");
    seq--;
    await store.commit(step({ fence: { dispatchId: again.dispatchId, claimToken: again.claimToken } }));
  });
});

test("a commit for which the file has no room leaves nothing that the next one would take for written", async () => {
  await using small = openTestStore({ maxBytes: 400 * 1024 });
  await small.commit(step());
  await small.commit(step());
  // SQLite itself takes the whole transaction back.
  await failure(small.commit(append(2, [user("large", "x".repeat(1_000_000))], { events: [event("a")] })), "storage_io");
  expect(await numbersOf(small.commit(step()))).toEqual(["t5 r5", "t6 r6"]);
  expect((await small.messages.list(T1, {})).items.map(({ message }) => message.id)).toEqual(["m1", "m2", "m3"]);
});
