import { type Message, messageText, messageToolCalls, runId, threadId } from "@awaken/contract";
import type { Store } from "@awaken/contract/store";
import { memoryStore } from "@awaken/stores/memory";
import { sqliteStore } from "@awaken/stores/sqlite";
import { describe, expect, test } from "vitest";
import * as z from "zod";
import { createRuntime, type RuntimeInit } from "../create-runtime.ts";
import { soleNode } from "../testing/fake-clock.ts";
import { text, toolCalls } from "../testing/script.ts";
import { type ScriptStep, scripted } from "../testing/scripted.ts";
import { ticketsOf } from "../testing/tickets-of.ts";
import { defineTool } from "../tool/define-tool.ts";
import { wait } from "../tool/reply.ts";
import { ask, suspend } from "../tool/verdict.ts";

const SILENT = { warn() {}, error() {} };
const APPROVE = { action: "approve" } as const;
const amount = z.object({ amount: z.number() });

/** Pays after an approval; `slow` runs until it is released; `quick` is done at once; `asks` waits by itself. */
function world() {
  const paid: number[] = [];
  const ran: string[] = [];
  const slow = Promise.withResolvers<void>();
  const began = Promise.withResolvers<void>();
  const tools = [
    defineTool({
      id: "pay",
      description: "",
      input: amount,
      approve: (input) => ask(`Pay ${input.amount}?`),
      execute: (input) => {
        paid.push(input.amount);
        ran.push(`pay ${input.amount}`);
        return { paid: input.amount };
      },
    }),
    defineTool({
      id: "slow",
      description: "",
      input: z.object({}),
      execute: async () => {
        began.resolve();
        await slow.promise;
        ran.push("slow");
        return "slow";
      },
    }),
    defineTool({
      id: "quick",
      description: "",
      input: z.object({}),
      execute: () => {
        ran.push("quick");
        return "quick";
      },
    }),
    defineTool({
      id: "asks",
      description: "",
      input: z.object({}),
      execute: (_input, { resume }) => (resume === undefined ? wait({ action: "confirm" }) : "asked"),
    }),
  ];
  return { paid, ran, tools, release: slow.resolve, began: began.promise };
}

function open(turns: readonly ScriptStep[], init: Partial<RuntimeInit>) {
  return createRuntime({
    providers: { scripted: scripted(turns) },
    models: { fast: { provider: "scripted", model: "scripted-1" } },
    agents: { default: { model: "fast" } },
    log: SILENT,
    ...init,
  });
}

const pay = (value: number, id = "call_0") => ({ name: "pay", input: { amount: value }, id });
const call = (name: string, id: string) => ({ name, input: {}, id });

async function logOf(store: Store): Promise<readonly Message[]> {
  return (await store.messages.list(threadId("t"), { visibility: "all" })).items.map(({ message }) => message);
}

const STORES: readonly (readonly [string, () => Store | Promise<Store>])[] = [
  ["memory", memoryStore],
  ["sqlite", () => sqliteStore(":memory:")],
];

describe.each(STORES)("tickets, %s", (_, make) => {
  test("core-execution 75: a call id that comes again, in a turn or on a thread, is another ticket, and late decisions do not reach it", async () => {
    const { tools, paid } = world();
    const store = await make();
    const runtime = open([toolCalls([pay(1)]), toolCalls([pay(2)]), toolCalls([pay(3)]), text("done")], { tools, store });
    const [first] = ticketsOf(await runtime.run({ thread: "t", input: "pay" }));
    const run = await runtime.decide(first?.id ?? "", { ...APPROVE, id: "d1" });
    const second = ticketsOf(await run.result)[0];
    const other = ticketsOf(await runtime.run({ thread: "u", input: "pay" }))[0];
    expect(new Set([first?.id, second?.id, other?.id, "call_0"]).size).toBe(4);
    expect([first, second, other].map((ticket) => ticket?.toolCallId)).toEqual(["call_0", "call_0", "call_0"]);
    await runtime.decide(first?.id ?? "", { ...APPROVE, id: "d1" });
    await expect(runtime.decide(first?.id ?? "", APPROVE)).rejects.toMatchObject({ code: "ticket_not_open" });
    await expect(runtime.decide("call_0", APPROVE)).rejects.toMatchObject({ code: "ticket_not_found" });
    await expect(runtime.decide("call_0", { ...APPROVE, run: "t" })).rejects.toMatchObject({ code: "ticket_not_found" });
    await expect(runtime.decide("call_0", { ...APPROVE, run: run.id })).rejects.toMatchObject({ code: "ambiguous_id" });
    expect(paid).toEqual([1]);
  });

  test("core-execution 75: a ticket that a message abandoned, or whose run was cancelled, is not open, in any process", async () => {
    const { tools, paid } = world();
    const store = await make();
    const turns = [toolCalls([pay(1)]), toolCalls([pay(2)]), toolCalls([pay(3)])];
    const runtime = open(turns, { tools, store });
    const [first] = ticketsOf(await runtime.run({ thread: "t", input: "pay" }));
    const [second] = ticketsOf(await runtime.run({ thread: "t", input: "no, that" }));
    const third = await runtime.run({ thread: "t", runId: "new", input: "no, this" });
    await runtime.cancelAndWait(third.runId);
    const there = open([], { tools, store });
    for (const ticket of [first, second, ...ticketsOf(third)]) {
      await expect(there.decide(ticket?.id ?? "", APPROVE)).rejects.toMatchObject({ code: "ticket_not_open" });
    }
    expect(paid).toEqual([]);
  });

  test("core-execution 76: tickets come in call order in the result, the record and the stream, however their ids sort", async () => {
    const { tools } = world();
    const store = await make();
    const runtime = open([toolCalls([pay(7, "z"), call("asks", "m"), pay(8, "a")])], { tools, store });
    const run = runtime.stream({ thread: "t", input: "pay" });
    const told: string[] = [];
    for await (const event of run) {
      if (event.type === "ticket-open") told.push(event.ticket.toolCallId);
      if (event.type === "run-end") expect(event.tickets.map(({ toolCallId }) => toolCallId)).toEqual(["z", "m", "a"]);
    }
    expect(ticketsOf(await run.result).map(({ toolCallId }) => toolCallId)).toEqual(["z", "m", "a"]);
    const record = await store.runs.load(run.id);
    expect(record?.status === "waiting" && record.waiting.tickets.map(({ toolCallId }) => toolCallId)).toEqual(["z", "m", "a"]);
    expect(told.toSorted()).toEqual(["a", "m", "z"]);
  });

  test("core-execution 77: two calls with one id in one turn are both gated, run and answered, in order, under different ids", async () => {
    const { tools, paid } = world();
    const store = await make();
    const model = scripted([toolCalls([pay(1), pay(2), call("quick", "call_0")]), text("done")]);
    const runtime = open([], { tools, store, providers: { scripted: model } });
    const first = ticketsOf(await runtime.run({ thread: "t", input: "pay" }));
    expect(first.map(({ input }) => input)).toEqual([{ amount: 1 }, { amount: 2 }]);
    expect(new Set(first.map(({ toolCallId }) => toolCallId)).size).toBe(2);
    const run = await runtime.decideAll(first.map(({ id }) => ({ ticket: id, decision: APPROVE })));
    expect(await run.result).toMatchObject({ status: "done", text: "done" });
    expect(paid).toEqual([1, 2]);
    const messages = model.requests[1]?.messages ?? [];
    const asked = messages.flatMap((message) => messageToolCalls(message).map(({ id }) => id));
    expect(asked[0]).toBe("call_0");
    expect(new Set(asked).size).toBe(3);
    expect(messages.flatMap((message) => (message.role === "tool" ? [[message.toolCallId, messageText(message)]] : []))).toEqual([
      [asked[0], '{"paid":1}'],
      [asked[1], '{"paid":2}'],
      [asked[2], "quick"],
    ]);
  });

  test("core-execution 81: an answer that does not fit the response schema of its ticket is refused, and the ticket stays open", async () => {
    const pick = defineTool({
      id: "pick",
      description: "",
      input: z.object({}),
      approve: () =>
        suspend({
          action: "pick",
          responseSchema: { type: "object", properties: { colour: { enum: ["red", "blue"] } }, required: ["colour"] },
          resumeMode: "use-decision-as-tool-result",
        }),
      execute: () => "never",
    });
    const store = await make();
    const runtime = open([toolCalls([call("pick", "c"), pay(1, "p")]), text("done")], { tools: [pick, ...world().tools], store });
    const first = await runtime.run({ thread: "t", input: "pick" });
    const [ticket, other] = ticketsOf(first).map(({ id }) => id);
    for (const result of ["red", {}, { colour: "green" }, null]) {
      const refused = runtime.decide(ticket ?? "", { action: "answer", result });
      await expect(refused).rejects.toMatchObject({ code: "invalid_resume", message: expect.stringContaining("response schema") });
    }
    const batch = [
      { ticket: other ?? "", decision: APPROVE },
      { ticket: ticket ?? "", decision: { action: "answer", result: 1 } as const },
    ];
    await expect(runtime.decideAll(batch)).rejects.toMatchObject({ code: "invalid_resume" });
    expect(ticketsOf(await runtime.wait(first.runId)).map(({ id }) => id)).toEqual([ticket, other]);
    await runtime.decide(other ?? "", { action: "deny" });
    const run = await runtime.decide(ticket ?? "", { action: "answer", result: { colour: "blue" } });
    expect(await run.result).toMatchObject({ status: "done", text: "done" });
  });

  test.each([
    ["before it", [pay(1, "p"), call("slow", "s")]],
    ["behind it", [call("slow", "s"), pay(1, "p")]],
    ["by itself, behind it", [call("slow", "s"), call("asks", "p")]],
    ["behind it, with one more that is done", [call("slow", "s"), call("quick", "q"), pay(1, "p"), call("quick", "r")]],
  ])("core-execution 78: a call that waits beside one that takes long, %s, can be seen and decided at once", async (__, calls) => {
    const { tools, ran, began, release } = world();
    const store = await make();
    const runtime = open([toolCalls(calls), text("over")], { tools, store });
    const run = runtime.stream({ thread: "t", input: "go" });
    const seen = Promise.withResolvers<string>();
    const types: string[] = [];
    const reading = (async () => {
      for await (const event of run) {
        types.push(event.type);
        if (event.type === "ticket-open") seen.resolve(event.ticket.id);
      }
    })();
    const ticket = await seen.promise;
    await began;
    expect(await store.runs.load(run.id)).toMatchObject({ status: "running", tickets: [{ id: ticket, toolCallId: "p" }] });
    const decided = await runtime.decide(ticket, { ...APPROVE, id: "d1" });
    expect(await store.runs.load(run.id)).toMatchObject({ decided: [{ ticketId: ticket, decisionId: "d1" }] });
    expect(ran).not.toContain("slow");
    release();
    expect(await decided.result).toMatchObject({ status: "done", text: "over" });
    await reading;
    expect(types.filter((type) => type === "run-end")).toHaveLength(1);
    const { messages } = (await store.threads.loadHead(threadId("t"))) ?? { messages: [] };
    const results = messages.flatMap(({ message }) => (message.role === "tool" ? [message.toolCallId] : []));
    expect(results).toEqual(calls.map(({ id }) => id));
  });

  test("core-execution 79: a decision id with the same content changes nothing and succeeds; with another it is refused", async () => {
    const { tools, paid } = world();
    const store = await make();
    const runtime = open([toolCalls([pay(1, "a"), pay(2, "b")]), text("done")], { tools, store });
    const [one, two] = ticketsOf(await runtime.run({ thread: "t", input: "pay" }));
    const edited = { action: "approve", input: { amount: 5 }, id: "d1" } as const;
    const run = await runtime.decide(one?.id ?? "", edited);
    await run.result;
    const there = open([text("done")], { tools, store });
    for (const runtimes of [runtime, there]) {
      expect((await runtimes.decide(one?.id ?? "", { ...edited, by: "ben" })).id).toBe(run.id);
      const others = [APPROVE, { action: "approve", input: { amount: 6 } }, { action: "deny" }, { action: "answer", result: 5 }] as const;
      for (const other of others) {
        await expect(runtimes.decide(one?.id ?? "", { ...other, id: "d1" })).rejects.toMatchObject({ code: "decision_conflict" });
      }
      await expect(runtimes.decide(two?.id ?? "", edited)).rejects.toMatchObject({ code: "decision_conflict" });
    }
    const same = [one, two].map((ticket) => ({ ticket: ticket?.id ?? "", decision: { ...APPROVE, id: "d2" } }));
    await expect(runtime.decideAll(same)).rejects.toMatchObject({ code: expect.stringMatching(/ticket_not_open|decision_conflict/) });
    expect(await (await there.decide(two?.id ?? "", { action: "deny", id: "d3" })).result).toMatchObject({ status: "done" });
    await expect(runtime.decide(two?.id ?? "", { action: "deny", reason: "x", id: "d3" })).rejects.toMatchObject({
      code: "decision_conflict",
    });
    expect(paid).toEqual([5]);
  });

  test.each([false, true])(
    "core-execution 80: with one refused decision none of a batch is taken while a sibling runs (the last: %s)",
    async (isLast) => {
      const { tools, paid, began, release } = world();
      const store = await make();
      const runtime = open([toolCalls([pay(1, "a"), pay(2, "b"), call("slow", "s")]), text("done")], { tools, store });
      const run = runtime.stream({ thread: "t", input: "go" });
      const tickets: string[] = [];
      for await (const event of run) {
        if (event.type === "ticket-open") tickets.push(event.ticket.id);
        if (tickets.length === 2) break;
      }
      await began;
      const good = { ticket: tickets[0] ?? "", decision: APPROVE };
      for (const bad of [
        { ticket: tickets[1] ?? "", decision: { action: "approve", input: { amount: "much" } } as const },
        { ticket: "nobody", decision: APPROVE },
      ]) {
        await expect(runtime.decideAll(isLast ? [good, bad] : [bad, good])).rejects.toThrow();
        expect(await store.runs.load(run.id)).toMatchObject({ decided: [], tickets: [{ id: tickets[0] }, { id: tickets[1] }] });
      }
      release();
      expect(ticketsOf(await run.result).map(({ id }) => id)).toEqual(tickets);
      expect(paid).toEqual([]);
    },
  );

  test("core-execution 82: a denied call has one tool row that closes it, beside its placeholder", async () => {
    const { tools } = world();
    const store = await make();
    const runtime = open([toolCalls([pay(1, "a"), call("quick", "q")]), text("sorry")], { tools, store });
    const [ticket] = ticketsOf(await runtime.run({ thread: "t", input: "pay" }));
    await (await runtime.decide(ticket?.id ?? "", { action: "deny", reason: "no" })).result;
    const rows = (await logOf(store)).filter((message) => message.role === "tool" && message.toolCallId === "a");
    expect(rows.map((row) => [row.role === "tool" && row.status, messageText(row)])).toEqual([
      ["pending", expect.any(String)],
      ["error", expect.stringContaining("no")],
    ]);
  });

  test("core-execution 83: in sequence the calls behind one that waited run when it is decided, in order and gated then", async () => {
    const { tools, ran } = world();
    const store = await make();
    const agents = { default: { model: "fast", toolExecution: "sequential" as const } };
    const turn = toolCalls([call("quick", "a"), pay(1, "b"), call("quick", "c"), pay(2, "d"), call("quick", "e")]);
    const first = await open([turn], { tools, store, agents }).run({ thread: "t", input: "go" });
    expect([ran, ticketsOf(first).map(({ toolCallId }) => toolCallId)]).toEqual([["quick"], ["b"]]);
    // In another process.
    const there = open([], { tools, store, agents });
    const second = await (await there.decide(ticketsOf(first)[0]?.id ?? "", APPROVE)).result;
    expect([[...ran], ticketsOf(second).map(({ toolCallId }) => toolCallId)]).toEqual([["quick", "pay 1", "quick"], ["d"]]);
    const model = scripted([text("over")]);
    const last = open([], { tools, store, agents, providers: { scripted: model } });
    expect(await (await last.decide(ticketsOf(second)[0]?.id ?? "", { action: "deny" })).result).toMatchObject({ status: "done" });
    expect(ran).toEqual(["quick", "pay 1", "quick", "quick"]);
    const seen = model.requests[0]?.messages.flatMap((message) => (message.role === "tool" ? [message.toolCallId] : []));
    expect(seen).toEqual(["a", "b", "c", "d", "e"]);
  });

  test("core-execution 98: a call that finished while its sibling runs on has its outcome on record", async () => {
    const { tools, began } = world();
    const store = await make();
    const dying = open([toolCalls([call("slow", "s"), call("quick", "q")])], { tools, store, workers: false });
    const run = dying.stream({ thread: "t", input: "go" });
    for await (const event of run) if (event.type === "tool-call-end") break;
    await began;
    const finished = async () => (await store.ledger.list(run.id)).map(({ toolName, status }) => `${toolName} ${status}`);
    await expect.poll(finished).toEqual(["slow claimed", "quick finished"]);
    // The process is gone; nobody hears of it again.
    const { tools: later, ran } = world();
    const resumed = await open([text("over")], { tools: later, store, node: soleNode("later"), workers: false }).resume(runId(run.id));
    expect(ticketsOf(resumed).map(({ toolName, action }) => `${toolName} ${action}`)).toEqual(["slow unknown-outcome"]);
    expect(ran).toEqual([]);
  });
});

test("the programs of the documents: tickets in the order of the calls", async () => {
  const { tools, paid } = world();
  const runtime = open([toolCalls([pay(7, "call_b"), pay(8, "call_a")]), text("done")], { tools });
  const [seven, eight] = ticketsOf(await runtime.run({ thread: "t", input: "Refund 7 and 8" }));
  await runtime.decide(seven?.id ?? "", APPROVE);
  const run = await runtime.decide(eight?.id ?? "", { action: "deny" });
  expect(await run.result).toMatchObject({ status: "done" });
  expect(paid).toEqual([7]);
});

describe("a decision whose run leaves while its record is read", () => {
  test("finds the run where it waits now", async () => {
    const store = memoryStore();
    const { tools, paid, release } = world();
    const [isRead, hasLeft] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const listByTicket: Store["runs"]["listByTicket"] = async (id) => {
      const runs = await store.runs.listByTicket(id);
      if (runs[0]?.status !== "running") return runs;
      isRead.resolve();
      await hasLeft.promise;
      return runs;
    };
    const turn = toolCalls([call("slow", "s"), pay(1, "p")]);
    const runtime = open([turn, text("fine")], { store: { ...store, runs: { ...store.runs, listByTicket } }, tools });
    const stream = runtime.stream({ thread: "t", input: "go" });
    const opened = Promise.withResolvers<string>();
    const listened = (async () => {
      for await (const event of stream) if (event.type === "ticket-open") opened.resolve(event.ticket.id);
    })();
    const ticket = await opened.promise;
    const decided = runtime.decide(ticket, APPROVE);
    await isRead.promise;
    release();
    await listened;
    expect((await stream.result).status).toBe("waiting");
    hasLeft.resolve();
    expect(await (await decided).result).toMatchObject({ status: "done", text: "fine" });
    expect(paid).toEqual([1]);
  });
});
