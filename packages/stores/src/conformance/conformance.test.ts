import { AwakenError } from "@awaken/contract";
import {
  type CommitThread,
  checkCommit,
  type QueueStore,
  type ScopedQueueStore,
  type ScopedStore,
  type Store,
  type WishStore,
} from "@awaken/contract/store";
import { describe, expect, test } from "vitest";
import { memoryStore } from "../memory/index.ts";
import { checkReopened } from "./durability.ts";
import { storeConformance } from "./index.ts";

const plainCommit =
  (commit: CommitThread): CommitThread =>
  async (asked) => {
    checkCommit(asked, { queue: false });
    return commit(asked);
  };

const plainWishes = (wishes: WishStore): WishStore => ({
  ...wishes,
  async append(wish, { resume = false } = {}) {
    if (resume) throw new AwakenError("capability_mismatch", "this store has no queue");
    return wishes.append(wish);
  },
});

function plainScope({ pending: _pending, dispatches: _dispatches, ...scoped }: ScopedQueueStore): ScopedStore {
  return {
    ...scoped,
    commit: plainCommit(scoped.commit),
    wishes: plainWishes(scoped.wishes),
    transaction: (work) =>
      scoped.transaction(({ pending: _inner, dispatches: _rows, ...ports }) => work({ ...ports, commit: plainCommit(ports.commit) })),
  };
}

/** What somebody brings who has storage and no queue. */
function withoutQueue(whole: QueueStore): Store {
  const { queue: _queue, pending: _pending, dispatches: _dispatches, ...store } = whole;
  return {
    ...store,
    ...plainScope(whole),
    scoped: (id) => plainScope(whole.scoped(id)),
    async stats() {
      const { pending: _rows, dispatches: _counts, ...stats } = await whole.stats();
      return stats;
    },
  };
}

storeConformance("a store without a queue", (clock) => withoutQueue(memoryStore({ clock })), { reopen: "never" });

describe("the suite", () => {
  test("server-and-durability 74: a store that forgets everything when it is opened again fails the conformance suite", async () => {
    const open = (clock: () => number) => memoryStore({ clock });
    const forgetful = async (store: QueueStore, clock: () => number) => {
      await store.close();
      return open(clock);
    };
    await expect(checkReopened({ open, hooks: { reopen: forgetful } })).rejects.toThrow("threads");
    await checkReopened({ open, hooks: { reopen: (store) => store } });
  });
});
