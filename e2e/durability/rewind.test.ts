import { type Message, messageId, messageText, runId, type TextContent, threadId } from "@awaken/contract";
import type { QueueStore, Store } from "@awaken/contract/store";
import { ask, command, defineState, defineTool, reply, wait } from "@awaken/runtime";
import { crashPoints, scripted, stall, text, ticketsOf, toolCall, toolCalls } from "@awaken/runtime/testing";
import { beforeAll, expect, test } from "vitest";
import * as z from "zod";
import { onEveryStore, openProcess, prompt } from "./support/every-store.ts";

const input = z.object({ n: z.number() });

const user = (id: string, content = id) => [{ role: "user", content, id }] as const;
const idsOf = (messages: readonly Message[]) => messages.map(({ id }) => id);
const textsOf = (messages: readonly Message[]) => messages.map((message) => messageText(message));

const asking = (done: number[] = []) =>
  defineTool({
    id: "pay",
    description: "",
    input,
    approve: () => ask("Pay?"),
    execute: ({ n }) => {
      done.push(n);
      return `paid ${n}`;
    },
  });

/** Runs until the process dies in, or behind, its tool. */
async function dieIn(store: Store, thread: string, at: "tool-start" | "tool-end", said: string) {
  const done: number[] = [];
  const pay = defineTool({ id: "pay", description: "", input, execute: ({ n }) => done.push(n) });
  const points = crashPoints({ at, nth: 1, mode: "throw" });
  const model = scripted([toolCall("pay", { n: 7 })]);
  const run = openProcess(model, { store: points.commits(store, "commit", "transaction"), tools: points.tools([pay]) });
  const cut = run.stream({ thread, input: user(said) });
  await cut.result.catch(() => {});
  expect(points.hasCrashed).toBe(true);
  return { run: cut.id, model, done, tools: [pay] };
}

onEveryStore("rewind", (current) => {
  let store: QueueStore;
  beforeAll(() => {
    store = current();
  });

  test("models see what was before the message, and what is said from then on; the log keeps all of it", async () => {
    const model = scripted(["a1", "a2", "a3"].map((said) => text(said)));
    const runtime = openProcess(model, { store });
    await runtime.run({ thread: "view", input: user("v1") });
    await runtime.run({ thread: "view", input: user("v2") });
    const { message, taken, cancelled } = await runtime.rewind("view", { toMessageId: "v2" });
    expect(message).toMatchObject({ id: "v2", role: "user", content: [{ type: "text", text: "v2" }] });
    expect(textsOf(taken)).toEqual(["v2", "a2"]);
    expect(cancelled).toEqual([]);
    await runtime.run({ thread: "view", input: "v2, but better" });
    expect(prompt(model)).toEqual(["user: v1", "assistant: a1", "user: v2, but better"]);
    expect(await store.messages.count(threadId("view"))).toBe(7);
    // Another process, which has not seen any of it.
    const other = scripted([text("a4")]);
    await openProcess(other, { store }).run({ thread: "view", input: "and now?" });
    expect(prompt(other)).toEqual(["user: v1", "assistant: a1", "user: v2, but better", "assistant: a3", "user: and now?"]);
  });

  test("an answer can be asked for again: rewind to it, and run on what is left", async () => {
    const model = scripted([text("bad"), text("good")]);
    const runtime = openProcess(model, { store });
    await runtime.run({ thread: "again", input: user("g1") });
    const head = await store.threads.loadHead(threadId("again"));
    const { taken } = await runtime.rewind("again", { toMessageId: head?.messages.at(-1)?.message.id ?? "" });
    expect(textsOf(taken)).toEqual(["bad"]);
    expect(await runtime.run({ thread: "again", input: user("g1") })).toMatchObject({ status: "done", text: "good" });
    expect(prompt(model)).toEqual(["user: g1"]);
  });

  test("a run that waits is over in the same commit: cancelled, no ticket open, ledger rows closed, thread state as it was", async () => {
    const done: number[] = [];
    const seen = defineState("seen", {
      scope: "thread",
      merge: "exclusive",
      schema: z.number(),
      initial: () => 0,
      apply: (_, next: number) => next,
    });
    const note = defineTool({ id: "note", description: "", input, execute: ({ n }) => reply(n, { command: command().update(seen, n) }) });
    const turn = toolCalls([
      { name: "note", input: { n: 5 } },
      { name: "pay", input: { n: 1 } },
      { name: "pay", input: { n: 2 } },
    ]);
    const model = scripted([turn, text("fine")]);
    const runtime = openProcess(model, { store, tools: [asking(done), note], state: [seen] });
    const waiting = await runtime.run({ thread: "wait", input: user("w1") });
    const tickets = ticketsOf(waiting);
    expect(tickets).toHaveLength(2);
    const { taken, cancelled } = await runtime.rewind("wait", { toMessageId: "w1" });
    expect(cancelled).toEqual([waiting.runId]);
    expect(taken[0]?.id).toBe("w1");
    const record = await store.runs.load(waiting.runId);
    expect(record).toMatchObject({ status: "done", outcome: { termination: { type: "cancelled" } } });
    expect(record?.closed).toHaveLength(2);
    const head = await store.threads.loadHead(threadId("wait"));
    expect(head?.openRun).toBeUndefined();
    expect(head?.messages).toEqual([]);
    expect(head?.state?.extensions).toMatchObject({ seen: 5, "__runtime.tool_call_states": { calls: [] } });
    expect(await store.ledger.list(waiting.runId, { statuses: ["claimed", "suspended"] })).toEqual([]);
    for (const { id } of tickets) {
      await expect(runtime.decide(id, { action: "approve" })).rejects.toMatchObject({ code: "ticket_not_open" });
    }
    await expect(runtime.resume(waiting.runId)).rejects.toMatchObject({ code: "invalid_resume" });
    expect(await runtime.wait(waiting.runId)).toMatchObject({ status: "cancelled" });
    const next = await runtime.run({ thread: "wait", input: "something else" });
    expect(next).toMatchObject({ status: "done", text: "fine" });
    expect(next.runId).not.toBe(waiting.runId);
    expect(prompt(model)).toEqual(["user: something else"]);
    expect(done).toEqual([]);
  });

  test("the ledger row of a call that ran and waits is closed with it", async () => {
    const late = defineTool({ id: "late", description: "", input, execute: () => wait({ action: "bank", message: "for the bank" }) });
    const runtime = openProcess(scripted([toolCall("late", { n: 1 })]), { store, tools: [late] });
    const { runId: run } = await runtime.run({ thread: "row", input: user("o1") });
    expect(await store.ledger.list(run)).toMatchObject([{ status: "suspended" }]);
    await runtime.rewind("row", { toMessageId: "o1" });
    expect(await store.ledger.list(run)).toMatchObject([{ status: "finished", result: { type: "error", code: "cancelled" } }]);
  });

  test("a process that dies around the commit leaves all of it or nothing", async () => {
    for (const at of ["commit-start", "commit-end"] as const) {
      const thread = `atomic-${at}`;
      const waiting = await openProcess(scripted([toolCall("pay", { n: 1 })]), { store, tools: [asking()] }).run({
        thread,
        input: user("x1"),
      });
      const before = await store.messages.count(threadId(thread));
      const points = crashPoints({ at, nth: 1, mode: "throw" });
      const dying = openProcess(scripted([]), { store: points.commits(store, "commit", "transaction"), tools: [asking()] });
      await expect(dying.rewind(thread, { toMessageId: "x1" })).rejects.toThrow("crashed");
      const isThere = at === "commit-end";
      expect(await store.runs.load(waiting.runId)).toMatchObject({ status: isThere ? "done" : "waiting" });
      expect(await store.messages.count(threadId(thread))).toBe(before + (isThere ? 1 : 0));
    }
  });

  test("rewinding twice goes further back, and what is out of view cannot be named again", async () => {
    const model = scripted(["a1", "a2", "a3", "a4", "a5"].map((said) => text(said)));
    const runtime = openProcess(model, { store });
    for (const id of ["r1", "r2", "r3"]) await runtime.run({ thread: "twice", input: user(id) });
    await runtime.rewind("twice", { toMessageId: "r3" });
    await runtime.run({ thread: "twice", input: user("r4") });
    const { taken } = await runtime.rewind("twice", { toMessageId: "r2" });
    expect(textsOf(taken)).toEqual(["r2", "a2", "r4", "a4"]);
    for (const id of ["r2", "r3", "r4"]) {
      await expect(runtime.rewind("twice", { toMessageId: id })).rejects.toMatchObject({ code: "storage_not_found" });
    }
    await runtime.run({ thread: "twice", input: user("r5") });
    expect(prompt(model)).toEqual(["user: r1", "assistant: a1", "user: r5"]);
    expect(idsOf((await runtime.rewind("twice", { toMessageId: "r1" })).taken).filter((id) => id.startsWith("r"))).toEqual(["r1", "r5"]);
    expect((await store.threads.loadHead(threadId("twice")))?.messages).toEqual([]);
  });

  test("a summary that reaches beyond the message is dropped, and the messages before are seen again; another one stays", async () => {
    const model = scripted(["a1", "a2", "a3", "a4", "a5"].map((said) => text(said)));
    const runtime = openProcess(model, { store });
    for (const id of ["s1", "s2"]) await runtime.run({ thread: "summary", input: user(id) });
    const summary = (id: string, toSeq: number): Message => {
      const content: readonly TextContent[] = [{ type: "text", text: `all up to ${toSeq}` }];
      return { id: messageId(id), role: "user", content, metadata: { compaction: { fromSeq: 1, toSeq } } };
    };
    const messages = [summary("sum-2", 2), summary("sum-4", 4)];
    await store.commit({
      threadId: threadId("summary"),
      runId: runId("s"),
      messageDelta: { messages, expectedMessageCount: 4 },
      events: [],
    });
    await runtime.run({ thread: "summary", input: user("s3") });
    expect(prompt(model)).toEqual(["user: all up to 4", "user: s3"]);
    await expect(runtime.rewind("summary", { toMessageId: "sum-4" })).rejects.toMatchObject({ code: "storage_not_found" });
    await runtime.rewind("summary", { toMessageId: "s2" });
    await runtime.run({ thread: "summary", input: user("s4") });
    expect(prompt(model)).toEqual(["user: all up to 2", "user: s4"]);
    await runtime.rewind("summary", { toMessageId: "s1" });
    await runtime.run({ thread: "summary", input: user("s5") });
    expect(prompt(model)).toEqual(["user: s5"]);
  });

  test("a run that was cut off beyond it is over: resume does not take it up, its claim stays in the ledger, and nothing runs again", async () => {
    const { run, done, tools } = await dieIn(store, "cut", "tool-end", "c1");
    const model = scripted([text("fine")]);
    const runtime = openProcess(model, { store, tools });
    expect((await runtime.rewind("cut", { toMessageId: "c1" })).cancelled).toEqual([run]);
    await expect(runtime.resume(run)).rejects.toMatchObject({ code: "invalid_resume" });
    await runtime.recover();
    await runtime.run({ thread: "cut", input: user("c2") });
    expect(prompt(model)).toEqual(["user: c2"]);
    expect(done).toEqual([7]);
    const [entry, ...rest] = await store.ledger.list(runId(run));
    expect(rest).toEqual([]);
    expect(entry).toMatchObject({ status: "claimed", attempt: 1, toolName: "pay" });
    // Whoever finds out puts it on record, and the view stays as it is.
    await runtime.reconcile(entry?.idempotencyKey ?? "", { type: "done", data: "paid" });
    expect(await store.ledger.list(runId(run))).toMatchObject([{ status: "finished" }]);
    expect(textsOf((await store.threads.loadHead(threadId("cut")))?.messages.map(({ message }) => message) ?? [])).toEqual(["c2", "fine"]);
  });

  test("rewind, a new message, a crash: the new run goes on with the shortened view", async () => {
    await openProcess(scripted([text("a1")]), { store }).run({ thread: "crash", input: user("k1") });
    await openProcess(scripted([text("a2")]), { store }).run({ thread: "crash", input: user("k2") });
    await openProcess(scripted([]), { store }).rewind("crash", { toMessageId: "k2" });
    const { run, tools, done } = await dieIn(store, "crash", "tool-start", "k3");
    const model = scripted([text("a3")]);
    const pay = defineTool({ id: "pay", description: "", input, idempotent: true, execute: ({ n }) => done.push(n) });
    expect(tools).toHaveLength(1);
    expect(await openProcess(model, { store, tools: [pay] }).resume(run)).toMatchObject({ status: "done", text: "a3" });
    expect(prompt(model)).toEqual(["user: k1", "assistant: a1", "user: k3", "assistant: ", "tool: 1"]);
    expect(done).toEqual([7]);
  });

  test("what came late for a call that stays in view stays too: its result, and that it was given up", async () => {
    const { run, tools } = await dieIn(store, "late", "tool-end", "l1");
    const model = scripted([text("a1"), toolCall("wish", { n: 1 }), text("a2"), text("a3")]);
    const wish = defineTool({ id: "wish", description: "", input, approve: () => ask("?"), execute: () => "" });
    const runtime = openProcess(model, { store, tools: [...tools, wish] });
    const lost = expect.stringContaining("its outcome is unknown");
    await runtime.run({ thread: "late", input: user("l2") });
    expect(prompt(model)).toEqual(["user: l1", "assistant: ", lost, "user: l2"]);
    // Somebody finds out what became of it: that stands behind the message which goes.
    const [entry] = await store.ledger.list(runId(run));
    await runtime.reconcile(entry?.idempotencyKey ?? "", { type: "done", data: "paid after all" });
    expect(textsOf((await runtime.rewind("late", { toMessageId: "l2" })).taken)).toEqual(["l2", "a1"]);
    await runtime.run({ thread: "late", input: user("l3") });
    expect(prompt(model)).toEqual(["user: l1", "assistant: ", "tool: paid after all", "user: l3"]);
    // Its call waits, and the next message gives it up.
    await runtime.run({ thread: "late", input: user("l4") });
    await runtime.rewind("late", { toMessageId: "l4" });
    await runtime.run({ thread: "late", input: user("l5") });
    expect(prompt(model)).toEqual(["user: l1", "assistant: ", "tool: paid after all", "user: l3", "user: l5"]);
  });

  test("a message that is sent again with its old id is a new one, keeps the client's, and is there once", async () => {
    const model = scripted(["a1", "a2", "a3", "a4"].map((said) => text(said)));
    const runtime = openProcess(model, { store });
    await runtime.run({ thread: "edit", input: user("e1") });
    await runtime.rewind("edit", { toMessageId: "e1" });
    const edited = user("e1", "e1, edited");
    const run = await runtime.run({ thread: "edit", input: edited });
    expect(prompt(model)).toEqual(["user: e1, edited"]);
    const head = await store.threads.loadHead(threadId("edit"));
    const [row] = head?.messages ?? [];
    expect(row?.message.metadata).toMatchObject({ clientId: "e1" });
    expect(row?.message.id).not.toBe("e1");
    expect((await store.runs.load(run.runId))?.input.triggerMessageIds).toEqual([row?.message.id]);
    await runtime.run({ thread: "edit", input: edited });
    expect(prompt(model)).toEqual(["user: e1, edited", "assistant: a2"]);
    await runtime.rewind("edit", { toMessageId: row?.message.id ?? "" });
    await runtime.run({ thread: "edit", input: user("e1", "e1, edited twice") });
    expect(prompt(model)).toEqual(["user: e1, edited twice"]);
  });

  test("is refused with nothing changed on a thread that is at work, and for what is not there", async () => {
    const runtime = openProcess(scripted([stall(text("hm"), 0)]), { store });
    const busy = runtime.stream({ thread: "busy", input: user("b1") });
    await expect(runtime.rewind("busy", { toMessageId: "b1" })).rejects.toMatchObject({ code: "thread_already_running" });
    await expect(runtime.rewind("nowhere", { toMessageId: "b1" })).rejects.toMatchObject({ code: "thread_not_found" });
    await runtime.cancelAndWait("busy");
    await busy.result;
    await expect(runtime.rewind("busy", { toMessageId: "b9" })).rejects.toMatchObject({ code: "storage_not_found" });
    await expect(runtime.rewind("busy", { toMessageId: "  " })).rejects.toMatchObject({ code: "invalid_activation" });
    const head = await store.threads.loadHead(threadId("busy"));
    expect(head?.messages[0]?.message.id).toBe("b1");
    // The thread is free again, for a rewind too.
    expect(idsOf((await runtime.rewind("busy", { toMessageId: "b1" })).taken)[0]).toBe("b1");
  });

  test("a thread that another process holds is refused there", async () => {
    const points = { name: "alive", isGone: () => false };
    const gate = Promise.withResolvers<void>();
    const begun = Promise.withResolvers<void>();
    const hold = defineTool({
      ...{ id: "hold", description: "", input },
      execute: async () => {
        begun.resolve();
        await gate.promise;
        return "held";
      },
    });
    const owner = openProcess(scripted([toolCall("hold", { n: 1 }), text("fine")]), { store, tools: [hold], node: points });
    const run = owner.stream({ thread: "held", input: user("h1") });
    await begun.promise;
    const other = openProcess(scripted([]), { store, node: { name: "other", isGone: () => false } });
    await expect(other.rewind("held", { toMessageId: "h1" })).rejects.toMatchObject({ code: "thread_already_running" });
    gate.resolve();
    expect(await run.result).toMatchObject({ status: "done", text: "fine" });
    expect((await other.rewind("held", { toMessageId: "h1" })).taken.length).toBeGreaterThan(2);
  });

  test("of a tenant it reaches nothing of another's", async () => {
    const runtime = openProcess(scripted([text("a"), text("b")]), { store });
    const [ana, ben] = [runtime.scoped("ana"), runtime.scoped("ben")];
    for (const tenant of [ana, ben]) await tenant.run({ thread: "t", input: user("m1") });
    await ana.rewind("t", { toMessageId: "m1" });
    expect((await store.scoped(ana.scopeId).threads.loadHead(threadId("t")))?.messages).toEqual([]);
    expect((await store.scoped(ben.scopeId).threads.loadHead(threadId("t")))?.messages).toHaveLength(2);
  });
});

test("a runtime without a store rewinds too, and ends what waits", async () => {
  const model = scripted([text("a1"), toolCall("pay", { n: 1 }), text("a3")]);
  const runtime = openProcess(model, { tools: [asking()] });
  await runtime.run({ thread: "t", input: user("m1") });
  const waiting = await runtime.run({ thread: "t", input: user("m2") });
  expect((await runtime.rewind("t", { toMessageId: "m2" })).cancelled).toEqual([waiting.runId]);
  const [ticket] = ticketsOf(waiting);
  await expect(runtime.decide(ticket?.id ?? "", { action: "approve" })).rejects.toMatchObject({ code: "ticket_not_open" });
  await runtime.run({ thread: "t", input: user("m3") });
  expect(prompt(model)).toEqual(["user: m1", "assistant: a1", "user: m3"]);
});
