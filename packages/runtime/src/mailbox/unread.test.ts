import { dispatchId, type Message, messageText, threadId } from "@awaken/contract";
import type { QueueStore } from "@awaken/contract/store";
import { describe, expect, test } from "vitest";
import * as z from "zod";
import { text, toolCall } from "../testing/script.ts";
import { defineTool } from "../tool/define-tool.ts";
import { ask } from "../tool/verdict.ts";
import { open } from "./open.test-support.ts";
import { STORES } from "./stores.test-support.ts";

// A thread is held from the first commit of a run on. Whoever read it before may have missed a whole run of another process.

const T = threadId("t");

const payInit = { id: "pay", description: "Pays", input: z.object({}), approve: () => ask("Pay?") };
const pay = defineTool({ ...payInit, execute: () => "paid" });

/** The same store, whose first commit sets out when it is let. */
function late(store: QueueStore) {
  const [sent, go] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const before = async () => {
    sent.resolve();
    await go.promise;
  };
  const commit: QueueStore["commit"] = async (given) => {
    await before();
    return store.commit(given);
  };
  const transaction: QueueStore["transaction"] = async (work) => {
    await before();
    return store.transaction(work);
  };
  return { store: { ...store, commit, transaction }, sent: sent.promise, go: go.resolve };
}

const said = (messages: readonly Message[]): string => messages.map((message) => `${message.role} ${messageText(message)}`).join(", ");

describe.each(STORES)("a run that begins on a thread where another one waits since it was read, on %s", (_, make) => {
  for (const onBusy of ["refuse", "interrupt"] as const) {
    test(`reads it again: the call that waits is over, and the model is shown it (${onBusy})`, async () => {
      await using store = make();
      const held = late(store);
      let shown = "";
      await using first = open(store, [toolCall("pay", {}, { id: "c" })], { workers: false, tools: [pay] });
      await using second = open(
        held.store,
        [
          ({ messages }) => {
            shown = said(messages);
            return text("the second");
          },
        ],
        { workers: false, tools: [pay] },
      );
      const running = second.run({ thread: T, input: "two", onBusy });
      await held.sent;
      const waiting = await first.run({ thread: T, input: "one" });
      expect(waiting.status).toBe("waiting");
      held.go();
      expect(await running).toMatchObject({ status: "done", text: "the second" });
      expect(shown).toContain("user one");
      expect(await store.runs.load(waiting.runId)).toMatchObject({ status: "done", closed: [{ toolCallId: "c" }] });
      expect((await store.threads.load(T))?.openRunId).toBeUndefined();
    });
  }

  test("keeps what was sent to it meanwhile for its own model, behind its input", async () => {
    await using store = make();
    const held = late(store);
    await using first = open(store, [text("the first")], { workers: false });
    await using second = open(held.store, [text("the second"), text("and more")], { workers: false });
    const running = second.run({ thread: T, input: "two" });
    await held.sent;
    await second.send(T, "hurry");
    await first.run({ thread: T, input: "one" });
    held.go();
    expect(await running).toMatchObject({ status: "done" });
    const { items } = await store.messages.list(T, {});
    const spoken = items.map(({ message }) => messageText(message)).filter((words) => ["one", "two", "hurry"].includes(words));
    expect(spoken).toEqual(["one", "two", "hurry"]);
    expect((await store.dispatches.list(T, {})).map(({ status }) => status)).toEqual(["acked", "acked"]);
  });
});

/** The same store, whose commits and looks at the queue set out one by one, when each is let; all of them when it goes. */
function stepwise(store: QueueStore) {
  const waiting: { readonly what: string; readonly go: () => void }[] = [];
  let isFree = false;
  const turn = async (what: string) => {
    if (!isFree) await new Promise<void>((go) => void waiting.push({ what, go }));
  };
  const stepped: QueueStore = {
    ...store,
    commit: (given) => turn("commit").then(() => store.commit(given)),
    transaction: (work) => turn("transaction").then(() => store.transaction(work)),
    dispatches: { ...store.dispatches, list: (...asked) => turn("list").then(() => store.dispatches.list(...asked)) },
  };
  return {
    store: stepped,
    asks: (what: string) => expect.poll(() => waiting.map((each) => each.what)).toEqual([what]),
    go: () => waiting.shift()?.go(),
    [Symbol.dispose]() {
      isFree = true;
      for (const { go } of waiting.splice(0)) go();
    },
  };
}

describe.each(STORES)("a run that was to go on with one that waits, and was refused, on %s", (_, make) => {
  test("is not that one any more: whoever decides about that one meanwhile is told by its record", async () => {
    await using store = make();
    await using first = open(store, [toolCall("pay", {}, { id: "c" }), text("paid")], { workers: false, tools: [pay] });
    using held = stepwise(store);
    const second = open(held.store, [text("the second")], { workers: false, tools: [pay] });
    const running = second.stream({ thread: T, input: "two" });
    const own = running.id;
    await held.asks("commit");
    const waiting = await first.run({ thread: T, input: "one" });
    const [ticket] = waiting.status === "waiting" ? waiting.tickets : [];
    if (ticket === undefined) throw new Error("no ticket");
    // Refused, because the thread has grown. The next try finds the run that waits, and somebody who has claimed its thread.
    held.go();
    await held.asks("transaction");
    await store.dispatches.enqueue({ dispatchId: dispatchId("d"), threadId: T, runId: waiting.runId });
    const claim = await store.dispatches.claim(T, { consumer: "somebody", leaseMs: 60_000 });
    if (claim === undefined) throw new Error("no claim");
    held.go();
    await held.asks("list");
    const { dispatchId: id, claimToken } = claim.dispatch;
    await store.dispatches.ack({ dispatchId: id, claimToken });
    const decided = await first.decide(ticket.id, { id: "one", action: "approve" });
    expect(await decided.result).toMatchObject({ status: "done", text: "paid" });
    const late = second.decide(ticket.id, { id: "other", action: "deny" }).then(
      () => "taken",
      ({ code }) => code,
    );
    await new Promise(setImmediate);
    expect(running.id).toBe(own);
    held[Symbol.dispose]();
    expect(await late).toBe("ticket_not_open");
    expect(await running.result).toMatchObject({ status: "done", text: "the second", runId: own });
    await second.close();
  });
});
