import { type Message, scopeId, type ThreadId } from "@awaken/contract";
import { effectiveMessages, type Store } from "@awaken/contract/store";
import { describe, expect } from "vitest";
import { append, assistant, result, runs, summary, T1, T2, user } from "./records.ts";
import { type StoreTest, vandalise } from "./world.ts";

/** A store may keep what it has read of a log; nobody may notice. */
export function headConformance(it: StoreTest): void {
  describe("heads of a thread that is read again and again", () => {
    growing(it);
    replaced(it);
    apart(it);
  });
}

const idsOf = (messages: readonly { readonly message: Message }[] = []): readonly string[] => messages.map(({ message }) => message.id);

async function viewOf(store: Pick<Store, "threads">, id: ThreadId = T1): Promise<readonly string[]> {
  return idsOf((await store.threads.loadHead(id))?.messages);
}

const turn = (index: number): readonly Message[] => [
  user(`u${index}`),
  assistant(`a${index}`, ["c1", "c2"]),
  result(`r${index}`, "c1"),
  result(`s${index}`, "c2"),
];

function growing(it: StoreTest): void {
  it("show what this handle and others have appended, each time as the whole log would be shown", async ({ store, peer }) => {
    const late = [assistant("a", ["x", "y"]), result("rx", "x", "pending"), result("ry", "y")];
    const steps: readonly (readonly Message[])[] = [
      ...[turn(1), turn(2), late, [user("meanwhile")], [result("answer", "x")], turn(3)],
      ...[[summary("sum", { fromSeq: 1, toSeq: 8 })], turn(4), [result("again", "c1")], turn(5)],
    ];
    let count = 0;
    for (const [index, messages] of steps.entries()) {
      await (index % 2 === 0 ? store : peer).commit(append(count, messages));
      count += messages.length;
      const { items } = await store.messages.list(T1, { limit: 200 });
      const expected = effectiveMessages(items.map(({ seq, message }) => ({ seq, message })));
      for (const node of [store, peer]) {
        const found = await node.threads.loadHead(T1);
        expect(found?.messageCount).toBe(count);
        expect(found?.messages.map(({ seq, message }) => ({ seq, message }))).toEqual(expected);
      }
    }
  });

  it("that are loaded at the same time as others append show one moment each", async ({ store, peer }) => {
    await store.commit(append(0, turn(0)));
    const write = async () => {
      for (let index = 1; index <= 20; index++) await peer.commit(append(index * 4, turn(index)));
    };
    const read = async () => {
      for (let count = 0; count < 84; ) {
        const found = await store.threads.loadHead(T1);
        count = found?.messageCount ?? 0;
        expect(found?.messages.map(({ seq }) => seq)).toEqual(Array.from({ length: count }, (_, index) => index + 1));
      }
    };
    await Promise.all([write(), read(), read(), read()]);
  });

  it("share nothing that a caller could change", async ({ store }) => {
    await store.commit(append(0, turn(1)));
    vandalise(await store.threads.loadHead(T1));
    await store.commit(append(4, turn(2)));
    const found = await store.threads.loadHead(T1);
    expect(found?.messages.map(({ message }) => message)).toEqual([...turn(1), ...turn(2)]);
  });
}

function replaced(it: StoreTest): void {
  it("of a thread that was deleted and made anew show nothing of the old one", async ({ store, peer }) => {
    const told = (text: string) => [user("m1", text), user("m2", text)];
    const textsOf = async () => (await store.threads.loadHead(T1))?.messages.map(({ message }) => message);
    await store.commit(append(0, told("old")));
    expect(await textsOf()).toEqual(told("old"));
    await peer.threads.delete(T1, "reject");
    await peer.commit(append(0, told("new")));
    expect(await textsOf()).toEqual(told("new"));
    await peer.threads.delete(T1, "reject");
    await peer.threads.create({ id: T1 });
    await peer.commit(append(0, [...told("newest"), user("m3")]));
    expect(await textsOf()).toEqual([...told("newest"), user("m3")]);
    await store.threads.delete(T1, "reject");
    expect(await textsOf()).toBeUndefined();
  });

  it("inside a transaction show its own rows, and nothing of them once it is rolled back", async ({ store }) => {
    await store.commit(append(0, [user("m1")], { run: runs.running() }));
    expect(await viewOf(store)).toEqual(["m1"]);
    const oops = new Error("oops");
    const work = store.transaction(async (ports) => {
      await ports.commit(append(1, [user("lost"), assistant("lost too")]));
      expect(await viewOf(ports)).toEqual(["m1", "lost", "lost too"]);
      throw oops;
    });
    await expect(work).rejects.toBe(oops);
    // Nobody looks before the log is longer than the transaction had seen it.
    await store.commit(append(1, [user("m2"), user("m3"), user("m4")]));
    expect(await viewOf(store)).toEqual(["m1", "m2", "m3", "m4"]);
  });

  it("show nothing of a commit that was refused", async ({ store }) => {
    await store.commit(append(0, [user("m1")]));
    await viewOf(store);
    await expect(store.commit(append(1, [user("m2"), user("m1")]))).rejects.toMatchObject({ code: "storage_validation" });
    expect(await viewOf(store)).toEqual(["m1"]);
    await store.commit(append(1, [user("m3")]));
    expect(await viewOf(store)).toEqual(["m1", "m3"]);
  });
}

function apart(it: StoreTest): void {
  it("of one id in two tenants, and of two threads, never meet", async ({ store }) => {
    const other = store.scoped(scopeId("other"));
    await store.commit(append(0, [user("m1"), user("m2")]));
    await other.commit(append(0, [user("o1")]));
    await store.commit({ ...append(0, [user("x1")]), threadId: T2 });
    for (let round = 0; round < 2; round++) {
      expect(await viewOf(store)).toEqual(["m1", "m2"]);
      expect(await viewOf(other)).toEqual(["o1"]);
      expect(await viewOf(store, T2)).toEqual(["x1"]);
    }
    await other.commit(append(1, [user("o2"), user("o3")]));
    expect(await viewOf(store)).toEqual(["m1", "m2"]);
    expect(await viewOf(other)).toEqual(["o1", "o2", "o3"]);
  });
}
