import type { Message } from "@awaken/contract";
import { effectiveMessages, type Store } from "@awaken/contract/store";
import { describe, expect } from "vitest";
import { append, assistant, result, rewind, state, summary, T1, user } from "./records.ts";
import { failure, type StoreTest } from "./world.ts";

async function viewOf(store: Store): Promise<readonly string[]> {
  const view = (await store.threads.loadHead(T1))?.messages ?? [];
  const { items } = await store.messages.list(T1, { limit: 200 });
  expect(view).toEqual(effectiveMessages(items.map(({ seq, message }) => ({ seq, message }))));
  return view.map(({ message }) => message.id);
}

export function rewindConformance(it: StoreTest): void {
  describe("rewinding", () => {
    it("takes later rows out of the view, whoever had it before; the log and the state keep them", async ({ store, peer }) => {
      await store.commit(append(0, [user("q1"), assistant("a1"), user("q2"), assistant("a2")], { threadState: state(3, { a: 1 }) }));
      expect(await viewOf(store)).toEqual(["q1", "a1", "q2", "a2"]);
      expect(await viewOf(peer)).toEqual(["q1", "a1", "q2", "a2"]);
      await store.commit(append(4, [rewind("w1", 3), user("q2-edited")]));
      for (const node of [store, peer]) expect(await viewOf(node)).toEqual(["q1", "a1", "q2-edited"]);
      await peer.commit(append(6, [assistant("a3")]));
      for (const node of [store, peer]) expect(await viewOf(node)).toEqual(["q1", "a1", "q2-edited", "a3"]);
      await store.commit(append(7, [rewind("w2", 1), user("anew")]));
      for (const node of [store, peer]) expect(await viewOf(node)).toEqual(["anew"]);
      expect(await store.messages.count(T1)).toBe(9);
      expect(await store.threads.loadState(T1)).toEqual(state(3, { a: 1 }));
    });

    it("takes summaries back that reach into it: the rows before it are seen again; others stay", async ({ store, peer }) => {
      const log: readonly Message[] = ["m1", "m2", "m3", "m4", "m5", "m6"].map((id) => user(id));
      await store.commit(append(0, log));
      await store.commit(append(6, [summary("s1", { fromSeq: 1, toSeq: 2 })]));
      await store.commit(append(7, [summary("s2", { fromSeq: 1, toSeq: 5 }), user("m7")]));
      for (const node of [store, peer]) expect(await viewOf(node)).toEqual(["s2", "m6", "m7"]);
      await store.commit(append(9, [rewind("w1", 4)]));
      for (const node of [store, peer]) expect(await viewOf(node)).toEqual(["s1", "m3"]);
      await store.commit(append(10, [user("m8"), summary("s3", { fromSeq: 1, toSeq: 3 })]));
      for (const node of [store, peer]) expect(await viewOf(node)).toEqual(["s3", "m8"]);
      await store.commit(append(12, [rewind("w2", 1), user("m9")]));
      for (const node of [store, peer]) expect(await viewOf(node)).toEqual(["m9"]);
    });

    it("a call whose result was taken back is unanswered, and a late result of a call that was taken back is of nobody", async ({
      store,
    }) => {
      await store.commit(append(0, [user("q1"), assistant("a1", ["c1"]), result("r1", "c1"), assistant("a2", ["c2"])]));
      await store.commit(append(4, [rewind("w1", 3), result("r2", "c2"), user("q2")]));
      const view = await store.threads.loadHead(T1);
      expect(JSON.stringify(view?.messages)).not.toMatch(/"c1"|"c2"/);
      expect((await viewOf(store)).filter((id) => id.startsWith("q"))).toEqual(["q1", "q2"]);
    });

    it("a rewind is internal and goes back", async ({ store }) => {
      await store.commit(append(0, [user("m1")]));
      const { visibility: _, ...visible } = rewind("w1", 1);
      for (const bad of [rewind("w1", 2), rewind("w1", 0), visible]) await failure(store.commit(append(1, [bad])), "storage_validation");
      expect(await store.messages.count(T1)).toBe(1);
    });
  });
}
