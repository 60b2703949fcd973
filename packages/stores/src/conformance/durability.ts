import { messageId, toolCallId } from "@awaken/contract";
import { userRecord } from "@awaken/contract/spec";
import { effectKey, hasQueue, profileOwner, type Store } from "@awaken/contract/store";
import { describe, expect, test } from "vitest";
import { append, checkpoint, claim, dispatch, event, ofQueue, R1, runs, state, T1, user } from "./records.ts";
import { type Setup, testClock } from "./world.ts";

/** A row of every kind. */
async function fill(store: Store): Promise<void> {
  await store.commit(
    append(0, [user("m1")], {
      run: runs.waiting(),
      threadState: state(1),
      ledger: { claims: [claim("c1")], outcomes: [] },
      events: [event("e")],
      ...ofQueue(store, { pending: { append: [{ message: user("p1") }] }, dispatch: { type: "enqueue", dispatch: dispatch("d1") } }),
    }),
  );
  await store.streamCheckpoints.put(checkpoint());
  await store.wishes.append({ type: "cancel", threadId: T1, runId: R1, wishId: "x1" });
  await store.profiles.put(profileOwner("a"), "k", 1);
  await store.config.put({ namespace: "agents", id: "a", record: userRecord({}) });
}

type Read = (store: Store) => Promise<unknown>;

/** What has to be there again, by its name. */
const KEPT: Readonly<Record<string, Read>> = {
  threads: (store) => store.threads.load(T1),
  "thread state": (store) => store.threads.loadState(T1),
  "what a run needs of its thread": (store) => store.threads.loadHead(T1),
  messages: async (store) => (await store.messages.list(T1, {})).items[0],
  runs: (store) => store.runs.load(R1),
  events: async (store) => (await store.events.list({ type: "run", runId: R1 }, {})).items[0],
  "the effect ledger": (store) => store.ledger.load(effectKey(R1, messageId("m1"), toolCallId("c1"))),
  "stream checkpoints": (store) => store.streamCheckpoints.load(R1, 0),
  wishes: (store) => store.wishes.load("x1"),
  profiles: (store) => store.profiles.load(profileOwner("a"), "k"),
  config: (store) => store.config.load({ namespace: "agents", id: "a" }),
};

const KEPT_QUEUED: Readonly<Record<string, Read>> = {
  "pending messages": async (store) => hasQueue(store) && (await store.pending.load(T1)).entries[0],
  dispatches: async (store) => hasQueue(store) && store.dispatches.load(dispatch("d1").dispatchId),
};

/** Whether everything that was written is there when the store is opened again; fails with the name of what is not. */
export async function checkReopened<S extends Store>({ open, hooks: { reopen } }: Setup<S>): Promise<void> {
  if (reopen === "never") return;
  const clock = testClock();
  const store = await open(clock.now);
  const kinds = Object.entries(hasQueue(store) ? { ...KEPT, ...KEPT_QUEUED } : KEPT);
  await fill(store);
  const written = new Map<string, unknown>();
  for (const [name, read] of kinds) written.set(name, await read(store));
  const again = await reopen(store, clock.now);
  try {
    for (const [name, read] of kinds) {
      expect(written.get(name), name).toBeTruthy();
      expect(await read(again), name).toEqual(written.get(name));
    }
    expect(await again.commit(append(1, [user("m2")]))).toMatchObject({ messageCount: 2 });
  } finally {
    await again.close();
  }
}

export function durabilityConformance<S extends Store>(setup: Setup<S>): void {
  if (setup.hooks.reopen === "never") return;
  describe("opened again", () => {
    test("everything that was written is there", { timeout: 120_000 }, () => checkReopened(setup));
  });
}
