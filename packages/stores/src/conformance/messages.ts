import { type Message, messageId } from "@awaken/contract";
import { effectiveMessages, type MessageFilter, type MessageRecord, type Order, type SequencedMessage } from "@awaken/contract/store";
import { describe, expect } from "vitest";
import { append, assistant, R1, R2, result, retraction, rewind, runs, summary, T1, T2, user, write } from "./records.ts";
import { failure, type StoreTest, vandalise, type World } from "./world.ts";

export function messageConformance(it: StoreTest): void {
  describe("messages", () => {
    theLog(it);
    queries(it);
    folding(it);
    fidelity(it);
  });
}

const seqsOf = (rows: readonly SequencedMessage[]): readonly number[] => rows.map((row) => row.seq);
const view = (rows: readonly SequencedMessage[]): readonly SequencedMessage[] => rows.map(({ seq, message }) => ({ seq, message }));
const idsOf = (rows: readonly SequencedMessage[]): readonly string[] => rows.map((row) => row.message.id);

function theLog(it: StoreTest): void {
  it("seqs start at 1 and have no gap; a commit gives the new count", async ({ store, clock }) => {
    expect(await store.commit(append(0, [user("m1"), user("m2")]))).toMatchObject({ messageCount: 2 });
    clock.advance(3);
    expect(await store.commit(append(2, [user("m3")]))).toMatchObject({ messageCount: 3 });
    expect(await store.commit({ threadId: T1, runId: R1 })).toMatchObject({ messageCount: 3 });
    const { items } = await store.messages.list(T1, {});
    expect(items).toEqual(
      ["m1", "m2", "m3"].map((id, index) => ({
        schemaVersion: 1,
        threadId: T1,
        seq: index + 1,
        createdAt: clock.now() - (index < 2 ? 3 : 0),
        message: user(id),
      })),
    );
  });

  it("server-and-durability 11: re-appending a committed message id fails and leaves the log byte-identical", async ({ store }) => {
    await store.commit(append(0, [user("m1"), user("m2")]));
    const before = JSON.stringify(await store.messages.list(T1, {}));
    await failure(store.commit(append(2, [user("m3"), user("m1", "other words")])), "storage_validation");
    expect(JSON.stringify(await store.messages.list(T1, {}))).toBe(before);
    expect(await store.commit(append(2, [user("m3")]))).toMatchObject({ messageCount: 3 });
  });

  it("core-execution 62: a delta that breaks a shape rule, or names an id twice, is a validation error", async ({ store }) => {
    const hostile: readonly Message[][] = [
      [user("m1"), user("m1")],
      [JSON.parse('{"id":" ","role":"user","content":[]}')],
      [JSON.parse('{"id":"m1","role":"user","content":[],"toolCallId":"c"}')],
      [JSON.parse('{"id":"m1","role":"tool","toolName":"t","status":"success","content":[]}')],
      [assistant("m1", ["c", "c"])],
      [summary("m1", { fromSeq: 1, toSeq: 1 })],
    ];
    for (const messages of hostile) await failure(store.commit(append(0, messages)), "storage_validation");
    expect(await store.messages.count(T1)).toBe(0);
    expect(await store.threads.load(T1)).toBeUndefined();
  });

  it("an id is unique in its thread, and may stand in another one too", async ({ store }) => {
    await store.commit(append(0, [user("m1")]));
    await store.commit({ ...append(0, [user("m1", "here")]), threadId: T2 });
    expect((await store.messages.load(T2, [messageId("m1")]))[0]?.message).toEqual(user("m1", "here"));
    expect((await store.messages.load(T1, [messageId("m1")]))[0]?.message).toEqual(user("m1"));
  });
}

/** Ten rows: even seqs are internal, seqs up to 4 are of run r1, up to 8 of r2. */
async function ten({ store }: World): Promise<void> {
  const rows = Array.from({ length: 10 }, (_, index): Message => {
    const seq = index + 1;
    const run = seq <= 4 ? { metadata: { runId: R1 } } : seq <= 8 ? { metadata: { runId: R2, stepIndex: 0 } } : undefined;
    return { ...user(`m${seq}`), ...(seq % 2 === 0 ? { visibility: "internal" } : undefined), ...run };
  });
  await store.commit(append(0, rows));
}

function queries(it: StoreTest): void {
  const cases: readonly (readonly [MessageFilter & { readonly order?: Order }, readonly number[]])[] = [
    [{}, [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]],
    [{ order: "descending" }, [10, 9, 8, 7, 6, 5, 4, 3, 2, 1]],
    [{ afterSeq: 8 }, [9, 10]],
    [{ beforeSeq: 3 }, [1, 2]],
    [{ afterSeq: 2, beforeSeq: 6, order: "descending" }, [5, 4, 3]],
    [{ afterSeq: 10 }, []],
    [{ afterSeq: 5, beforeSeq: 5 }, []],
    [{ visibility: "external" }, [1, 3, 5, 7, 9]],
    [{ visibility: "internal" }, [2, 4, 6, 8, 10]],
    [{ visibility: "all", afterSeq: 9 }, [10]],
    [{ runId: R2 }, [5, 6, 7, 8]],
    [{ runId: R1, visibility: "internal", afterSeq: 2 }, [4]],
  ];

  it("queries are by seq window, order, visibility and run; counts say the same", async (world) => {
    await ten(world);
    for (const [{ order, ...filter }, expected] of cases) {
      const { items } = await world.store.messages.list(T1, { ...filter, ...(order === undefined ? undefined : { order }) });
      expect(seqsOf(items)).toEqual(expected);
      expect(await world.store.messages.count(T1, filter)).toBe(expected.length);
    }
  });

  it("pages are read in both directions", async (world) => {
    await ten(world);
    const { messages } = world.store;
    const read = async (order: Order, visibility: "all" | "external"): Promise<readonly number[]> => {
      const seen: MessageRecord[] = [];
      for (let next: number | undefined = order === "ascending" ? 0 : 11; next !== undefined; ) {
        const edge: MessageFilter = order === "ascending" ? { afterSeq: next } : { beforeSeq: next };
        const page = await messages.list(T1, { ...edge, order, visibility, limit: 3 });
        seen.push(...page.items);
        next = page.next;
      }
      return seqsOf(seen);
    };
    expect(await read("ascending", "all")).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
    expect(await read("descending", "external")).toEqual([9, 7, 5, 3, 1]);
  });

  it("are found by id, in log order, whatever is asked for", async (world) => {
    await ten(world);
    const found = await world.store.messages.load(T1, ["m7", "zzz", "m2", "m7", "%"].map(messageId));
    expect(seqsOf(found)).toEqual([2, 7]);
    expect(await world.store.messages.load(T1, [])).toEqual([]);
  });
}

function folding(it: StoreTest): void {
  const five = ["m1", "m2", "m3", "m4", "m5"].map((id) => user(id));

  it("server-and-durability 16: of two overlapping compaction summaries the wider one wins, the narrower is not visible", async ({
    store,
  }) => {
    await store.commit(
      append(0, [...five, summary("narrow", { fromSeq: 2, toSeq: 3 }), summary("wide", { fromSeq: 2, toSeq: 4 }), user("m8")]),
    );
    const head = await store.threads.loadHead(T1);
    expect(idsOf(head?.messages ?? [])).toEqual(["m1", "wide", "m5", "m8"]);
    expect(head?.messageCount).toBe(8);
  });

  it("core-execution 64: with summaries [1,3] and [1,6] only the wider one and later messages appear, and the count is the raw one", async ({
    store,
  }) => {
    await store.commit(append(0, [...five, summary("narrow", { fromSeq: 1, toSeq: 3 })]));
    expect(idsOf((await store.threads.loadHead(T1))?.messages ?? [])).toEqual(["narrow", "m4", "m5"]);
    await store.commit(append(6, [summary("wide", { fromSeq: 1, toSeq: 6 }), user("m8")]));
    const head = await store.threads.loadHead(T1);
    expect(idsOf(head?.messages ?? [])).toEqual(["wide", "m8"]);
    expect(head?.messageCount).toBe(8);
    expect(await store.messages.count(T1)).toBe(8);
  });

  it("server-and-durability 17: a retracted call and its pending result vanish from the view; the raw count is unchanged", async ({
    store,
  }) => {
    await store.commit(append(0, [user("m1"), assistant("m2", ["c1", "c2"]), result("m3", "c1", "pending"), result("m4", "c2")]));
    expect(idsOf((await store.threads.loadHead(T1))?.messages ?? [])).toEqual(["m1", "m2", "m3", "m4"]);
    await store.commit(append(4, [retraction("m5", "c1")]));
    const head = await store.threads.loadHead(T1);
    expect(idsOf(head?.messages ?? [])).toEqual(["m1", "m2", "m4"]);
    expect(head?.messages[1]?.message.content).toHaveLength(2);
    expect(head?.messageCount).toBe(5);
  });

  it("a head is the effective view of the whole log, wherever summaries lie", async ({ store }) => {
    let seed = 7;
    const random = (below: number): number => {
      seed = (seed * 48_271) % 2_147_483_647;
      return seed % below;
    };
    const log: SequencedMessage[] = [];
    for (let seq = 1; seq <= 60; seq++) {
      const message = nextMessage(seq, random);
      await store.commit(append(seq - 1, [message], seq === 1 ? { run: runs.running() } : {}));
      log.push({ seq, message });
      const head = await store.threads.loadHead(T1);
      expect(view(head?.messages ?? [])).toEqual(effectiveMessages(log));
      expect(head?.messageCount).toBe(seq);
    }
  });
}

function nextMessage(seq: number, random: (below: number) => number): Message {
  const id = `m${seq}`;
  switch (seq === 1 ? 0 : random(8)) {
    case 0:
      return user(id);
    case 1:
    case 2:
      return assistant(id, random(2) === 0 ? [`c${random(3)}`] : []);
    case 3:
    case 4:
      return result(id, `c${random(3)}`, random(2) === 0 ? "success" : "pending");
    case 5:
      return retraction(id, `c${random(3)}`);
    case 6:
      return random(3) === 0 ? rewind(id, Math.max(1, seq - 1 - random(6))) : user(id);
    default: {
      const toSeq = 1 + random(seq - 1);
      return summary(id, { fromSeq: random(2) === 0 ? 1 : 1 + random(toSeq), toSeq });
    }
  }
}

function fidelity(it: StoreTest): void {
  it("text of any kind comes back as it was written", async ({ store }) => {
    const texts = [
      "",
      " ",
      "'; drop table messages; -- %_\\",
      "\u0000\u0001\u001f\u007f",
      "\ud800 lone",
      "\u2028\u2029",
      "😀é\u0301",
      "x".repeat(200_000),
    ];
    const messages = texts.map((text, index): Message => {
      const input = { text, [`key ${text.slice(0, 20)}`]: [text.slice(0, 9), 1e21, -0.5, null, true] };
      return {
        ...assistant(`m${index}`),
        content: [
          { type: "text", text },
          { ...callPart(index), input },
        ],
      };
    });
    await store.commit(append(0, messages, { threadState: { schemaVersion: 1, revision: 1, extensions: { texts } } }));
    expect((await store.messages.list(T1, {})).items.map((row) => row.message)).toEqual(messages);
    expect((await store.threads.loadState(T1))?.extensions).toEqual({ texts });
  });

  it("changing an object that was written or read changes nothing that is stored", async ({ store }) => {
    const expected = append(0, [assistant("m1", ["c1"])], {
      run: runs.running(),
      threadState: { schemaVersion: 1, revision: 1, extensions: { list: [{ a: 1 }] } },
    });
    const commit = structuredClone(expected);
    const given = await store.commit(commit);
    vandalise(commit);
    vandalise(given);
    for (let round = 0; round < 2; round++) {
      const [row] = (await store.messages.list(T1, {})).items;
      const run = await store.runs.load(R1);
      const head = await store.threads.loadHead(T1);
      expect(row?.message).toEqual(expected.messageDelta?.messages[0]);
      expect(run).toEqual({ ...expected.run, ordinal: 1 });
      expect(head?.state).toEqual(expected.threadState);
      vandalise([row, run, head, await store.threads.load(T1), await store.threads.loadState(T1)]);
    }
    expect(await store.commit(write(runs.running({ updatedAt: 2 })))).toMatchObject({ run: { ordinal: 1 } });
  });
}

const callPart = (index: number) => assistant("x", [`c${index}`]).content.find((part) => part.type === "tool-call") ?? expect.fail();
