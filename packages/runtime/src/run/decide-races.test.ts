import { openTicketsOf, runId } from "@awaken/contract";
import type { Store } from "@awaken/contract/store";
import { memoryStore } from "@awaken/stores/memory";
import { sqliteStore } from "@awaken/stores/sqlite";
import { describe, expect, test } from "vitest";
import * as z from "zod";
import { text, toolCalls } from "../testing/script.ts";
import { scripted } from "../testing/scripted.ts";
import { ticketsOf } from "../testing/tickets-of.ts";
import { defineTool } from "../tool/define-tool.ts";
import { ask } from "../tool/verdict.ts";
import { open } from "./crash.test-support.ts";

const APPROVE = { action: "approve" } as const;
const pay = (amount: number, id: string) => ({ name: "pay", input: { amount }, id });
const slow = { name: "slow", input: {}, id: "s" };

/** `pay` asks first, and its schema takes its time with 99; `slow` runs until it is released. */
function world() {
  const paid: number[] = [];
  const [release, began, check, checking] = [0, 0, 0, 0].map(() => Promise.withResolvers<void>());
  if (release === undefined || began === undefined || check === undefined || checking === undefined) throw new Error("unreachable");
  const amount = z.number().refine(async (value) => {
    if (value !== 99) return true;
    checking.resolve();
    await check.promise;
    return true;
  });
  const tools = [
    defineTool({
      id: "pay",
      description: "",
      input: z.object({ amount }),
      approve: () => ask("Pay?"),
      execute: (input) => {
        paid.push(input.amount);
        return "paid";
      },
    }),
    defineTool({
      id: "slow",
      description: "",
      input: z.object({}),
      execute: async () => {
        began.resolve();
        await release.promise;
        return "slow";
      },
    }),
  ];
  return { paid, tools, release: release.resolve, began: began.promise, check: check.resolve, checking: checking.promise };
}

/** A store whose commits fail as long as it is told so. */
function breakable(store: Store) {
  const disk = { isFull: false };
  const commit: Store["commit"] = async (given) => {
    if (disk.isFull) throw new Error("the disk is full");
    return store.commit(given);
  };
  return { disk, store: { ...store, commit } };
}

const STORES: readonly (readonly [string, () => Store | Promise<Store>])[] = [
  ["memory", memoryStore],
  ["sqlite", () => sqliteStore(":memory:")],
];

describe.each(STORES)("decisions about a run that is active, %s", (_, make) => {
  /** The tickets of a turn, open beside a call that runs. */
  async function waiting(calls: Parameters<typeof toolCalls>[0], store: Store, tools: ReturnType<typeof world>["tools"]) {
    const runtime = open(scripted([toolCalls(calls), text("over")]), { store, tools });
    const run = runtime.stream({ thread: "t", input: "go" });
    const heard = Promise.withResolvers<void>();
    const tickets: string[] = [];
    void (async () => {
      for await (const event of run) {
        if (event.type === "ticket-open") tickets.push(event.ticket.id);
        if (tickets.length === calls.length - 1) heard.resolve();
      }
    })();
    await heard.promise;
    return { runtime, run, tickets };
  }

  test("one that cannot be written is not taken: nothing comes of it, and it can be taken again", async () => {
    const { paid, tools, release, began } = world();
    const { disk, store } = breakable(await make());
    const { runtime, run, tickets } = await waiting([pay(1, "a"), pay(2, "b"), slow], store, tools);
    await began;
    const [a = "", b = ""] = tickets;
    disk.isFull = true;
    const both = [a, b].map((ticket, index) => ({ ticket, decision: { ...APPROVE, id: `d${index}` } }));
    await expect(runtime.decideAll(both)).rejects.toThrow("the disk is full");
    disk.isFull = false;
    await runtime.decide(b, { action: "deny", id: "d9" });
    release();
    expect(ticketsOf(await run.result).map(({ id }) => id)).toEqual([a]);
    expect(await store.runs.load(run.id)).toMatchObject({ decided: [{ ticketId: b, decisionId: "d9" }] });
    const { items: facts } = await store.events.list({ type: "run", runId: runId(run.id) }, {});
    expect(facts.filter(({ kind }) => kind === "decision-taken")).toHaveLength(1);
    expect(paid).toEqual([]);
    const again = await runtime.decide(a, { ...APPROVE, id: "d0" });
    expect(await again.result).toMatchObject({ status: "done", text: "over" });
    expect(paid).toEqual([1]);
  });

  test("a late or repeated click is answered at once while another run has the thread", async () => {
    const { paid, tools, release, began } = world();
    const store = await make();
    const turns = [toolCalls([pay(1, "a"), pay(2, "b")]), toolCalls([slow]), text("over")];
    const runtime = open(scripted(turns), { store, tools });
    const [a, b] = ticketsOf(await runtime.run({ thread: "t", input: "pay" })).map(({ id }) => id);
    await (await runtime.decide(a ?? "", { action: "deny", id: "d1" })).result;
    const other = runtime.stream({ thread: "t", runId: "other", input: "no, that" });
    const late = runtime.decide(b ?? "", APPROVE);
    await expect(late).rejects.toMatchObject({ code: "ticket_not_open", details: { closedBy: expect.any(String) } });
    await began;
    await expect(runtime.decide(b ?? "", APPROVE)).rejects.toMatchObject({ code: "ticket_not_open" });
    await expect(runtime.decide(a ?? "", { ...APPROVE, id: "d1" })).rejects.toMatchObject({ code: "decision_conflict" });
    expect(await (await runtime.decide(a ?? "", { action: "deny", id: "d1" })).result).toMatchObject({ status: "cancelled" });
    release();
    expect(await other.result).toMatchObject({ status: "done", text: "over" });
    expect(paid).toEqual([]);
  });

  test("of one by the id of a call that did not wait yet and one by its ticket only one is taken", async () => {
    const { paid, tools, release, began, check, checking } = world();
    const store = await make();
    const gate = Promise.withResolvers<void>();
    const late = defineTool({
      id: "late",
      description: "",
      input: z.object({}),
      approve: async () => {
        await gate.promise;
        return ask("Now?");
      },
      execute: () => "late",
    });
    const calls = [pay(1, "a"), { name: "late", input: {}, id: "l" }, slow];
    const runtime = open(scripted([toolCalls(calls), text("over")]), { store, tools: [...tools, late] });
    const run = runtime.stream({ thread: "t", input: "go" });
    await runtime.decide("a", { action: "approve", input: { amount: 5 }, id: "early", run: run.id });
    gate.resolve();
    await began;
    await expect.poll(async () => openTicketsOf((await store.runs.load(run.id)) ?? never()).length).toBe(2);
    const ticket = openTicketsOf((await store.runs.load(run.id)) ?? never())[0]?.id ?? "";
    const taken = runtime.decide(ticket, { action: "approve", input: { amount: 99 }, id: "late" });
    await checking;
    release();
    for (let turn = 0; turn < 50; turn++) await new Promise((resolve) => setImmediate(resolve));
    check();
    await taken;
    await run.result;
    const record = await store.runs.load(run.id);
    expect(record?.decided.map(({ decisionId }) => decisionId)).toEqual(["late"]);
    expect(paid).toEqual([99]);
  });
});

const never = (): never => {
  throw new Error("there is no record");
};
