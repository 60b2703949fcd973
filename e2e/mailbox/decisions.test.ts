import { decisionId, openTicketsOf, runId, threadId, ticketId } from "@awaken/contract";
import type { QueueStore } from "@awaken/contract/store";
import { ask, defineTool, type RunResult } from "awaken";
import { text, toolCall, toolCalls } from "awaken/testing";
import { expect } from "vitest";
import * as z from "zod";
import { logOf, open, pay, slow, T } from "./support/open.ts";
import { deaf, onEveryStore } from "./support/stores.ts";

const APPROVE = { action: "approve" } as const;
const DENY = { action: "deny" } as const;
const R = runId("r");

const ticketOf = (result: RunResult): string => (result.status === "waiting" ? (result.tickets[0]?.id ?? "") : "");

/** When the record shows the ticket of a run that is at work. */
async function openTicket(store: QueueStore, id = R): Promise<string> {
  const look = async () => {
    const run = await store.runs.load(id);
    return run === undefined ? undefined : openTicketsOf(run)[0]?.id;
  };
  await expect.poll(look).toBeDefined();
  return (await look()) ?? "";
}

const fixed = defineTool({
  id: "fixed",
  description: "Takes its input as it is",
  input: z.object({ n: z.number() }),
  approve: () => ask("Do it?", { canEdit: false, expiresInMs: 60_000 }),
  execute: () => "done",
});

const FIXED_AND_SLOW = toolCalls([
  { name: "fixed", input: { n: 1 }, id: "c1" },
  { name: "slow", input: {}, id: "c2" },
]);

onEveryStore("decisions", (it) => {
  it("server-and-durability 41: a ticket id, or a call id with its run, is good in any process; an unknown one is not found", async ({
    store,
    peer,
  }) => {
    await using a = open(store, [toolCall("pay", {}, { id: "c1" }), toolCall("pay", {}, { id: "c2" })], { tools: [pay] });
    await using b = open(peer, [text("one"), text("two")], { tools: [pay] });
    const first = await a.run({ thread: "t", input: "pay" });
    await expect(b.decide("nobody", APPROVE)).rejects.toMatchObject({ code: "ticket_not_found" });
    await expect(b.decide("c1", APPROVE)).rejects.toMatchObject({ code: "ticket_not_found" });
    await expect(b.decide("c1", { ...APPROVE, run: "another" })).rejects.toMatchObject({ code: "ticket_not_found" });
    await expect(b.decide("nobody", { ...APPROVE, run: first.runId })).rejects.toMatchObject({ code: "ticket_not_found" });
    expect(await store.wishes.listOpen(first.runId)).toEqual([]);
    expect(await (await b.decide("c1", { ...APPROVE, run: first.runId })).result).toMatchObject({ status: "done", text: "one" });
    const second = await a.run({ thread: "t", input: "pay again" });
    expect(await (await b.decide(ticketOf(second), APPROVE)).result).toMatchObject({ status: "done", text: "two" });
  });

  it("server-and-durability 41: the same where another process is at work on the run", async ({ store, peer }) => {
    const last = slow();
    const calls = toolCalls([
      { name: "pay", input: {}, id: "c1" },
      { name: "slow", input: {}, id: "c2" },
    ]);
    await using a = open(store, [calls, text("both")], { tools: [pay, last.tool] });
    await using b = open(peer, [], { tools: [pay] });
    const run = a.stream({ thread: "t", runId: R, input: "pay" });
    await last.began;
    await openTicket(store);
    await expect(b.decide("nobody", APPROVE)).rejects.toMatchObject({ code: "ticket_not_found" });
    await b.decide("c1", { ...APPROVE, run: R, id: "d1" });
    await expect.poll(async () => (await store.runs.load(R))?.decided).toMatchObject([{ decisionId: "d1", toolCallId: "c1" }]);
    last.release();
    expect(await run.result).toMatchObject({ status: "done", text: "both" });
    expect(await store.wishes.listOpen(R)).toEqual([]);
  });

  it("server-and-durability 44: suspension frees the claim: another node resumes the run at once", async ({ store, peer }) => {
    await using a = open(store, [toolCall("pay", {})], { tools: [pay], leaseMs: 600_000 });
    await using b = open(peer, [text("paid elsewhere")], { tools: [pay] });
    const first = await a.run({ thread: "t", input: "pay" });
    expect(await store.dispatches.list(T, { statuses: ["queued", "claimed"] })).toEqual([]);
    const run = await b.decide(ticketOf(first), APPROVE);
    expect(await run.result).toMatchObject({ status: "done", text: "paid elsewhere", runId: first.runId });
  });

  it("one ticket is decided once: the owner of the run refuses what somebody elsewhere was told yes for", async ({ store, peer }) => {
    const last = slow();
    const calls = toolCalls([
      { name: "pay", input: {}, id: "c1" },
      { name: "slow", input: {}, id: "c2" },
    ]);
    await using a = open(deaf(store), [calls, text("denied")], { tools: [pay, last.tool] });
    await using b = open(peer, [], { tools: [pay] });
    const run = a.stream({ thread: "t", runId: R, input: "pay" });
    await last.began;
    const ticket = await openTicket(store);
    await b.decide(ticket, { ...DENY, id: "theirs" });
    await expect(a.decide(ticket, { ...APPROVE, id: "own" })).rejects.toMatchObject({ code: "ticket_not_open" });
    // The same decision once more is no other one.
    await a.decide(ticket, { ...DENY, id: "theirs" });
    last.release();
    expect(await run.result).toMatchObject({ status: "done", text: "denied" });
    expect(await store.runs.load(R)).toMatchObject({ decided: [{ decisionId: "theirs" }] });
    expect((await logOf(store)).join()).not.toContain("paid");
    expect(await store.wishes.listOpen(R)).toEqual([]);
  });

  it("however two processes decide one ticket differently at one moment, one of them is told yes", async ({ store, peer }) => {
    for (let round = 0; round < 6; round++) {
      const turns = [toolCall("pay", {}), text("over")];
      await using a = open(store, turns, { tools: [pay] });
      await using b = open(peer, [text("over")], { tools: [pay] });
      const first = await a.run({ thread: `t${round}`, input: "pay" });
      const ticket = ticketOf(first);
      const told = await Promise.allSettled([
        a.decide(ticket, { ...APPROVE, id: `yes${round}` }),
        b.decide(ticket, { ...DENY, id: `no${round}` }),
      ]);
      expect(told.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
      for (const each of told) if (each.status === "rejected") expect(each.reason).toMatchObject({ code: "ticket_not_open" });
      const id = told[0]?.status === "fulfilled" ? `yes${round}` : `no${round}`;
      await expect.poll(async () => (await store.runs.load(first.runId))?.status).toBe("done");
      expect(await store.runs.load(first.runId)).toMatchObject({ decided: [{ decisionId: id }] });
      expect(await store.wishes.listOpen(first.runId)).toEqual([]);
    }
  });

  it("server-and-durability 77: two processes decide tickets of one run at the same moment: all succeed, each call once", async ({
    store,
    peer,
  }) => {
    const paid: string[] = [];
    const pays = defineTool({
      id: "pays",
      description: "Pays somebody",
      input: z.object({ to: z.string() }),
      approve: () => ask("Pay?"),
      execute: ({ to }) => void paid.push(to),
    });
    for (let round = 0; round < 4; round++) {
      const thread = `t${round}`;
      const calls = [1, 2, 3, 4].map((nth) => ({ name: "pays", input: { to: `${thread}/${nth}` }, id: `c${nth}` }));
      await using a = open(store, [toolCalls(calls), text("over")], { tools: [pays], workers: true });
      const first = await a.run({ thread, input: "pay" });
      await using b = open(peer, [text("over")], { tools: [pays], workers: true });
      const [one = "", two = "", three = "", four = ""] = first.status === "waiting" ? first.tickets.map(({ id }) => id) : [];
      await Promise.all([
        a.decideAll([one, three].map((ticket) => ({ ticket, decision: APPROVE }))),
        b.decide(two, APPROVE),
        b.decide(four, DENY),
      ]);
      await expect.poll(async () => (await store.runs.load(first.runId))?.status).toBe("done");
      for (const runtime of [a, b]) expect(await runtime.wait(first.runId)).toMatchObject({ status: "done", text: "over" });
      expect(paid.splice(0).toSorted()).toEqual([`${thread}/1`, `${thread}/2`, `${thread}/3`]);
      expect((await store.runs.load(first.runId))?.decided.map(({ toolCallId: id }) => String(id)).toSorted()).toEqual([
        "c1",
        "c2",
        "c3",
        "c4",
      ]);
      expect(await store.wishes.listOpen(first.runId)).toEqual([]);
    }
  });

  it("a message that closes a ticket closes what was decided about it: no row stays open on a run that is done", async ({
    store,
    peer,
  }) => {
    await using a = open(store, [toolCall("pay", {}), text("never mind")], { tools: [pay] });
    const first = await a.run({ thread: "t", input: "pay" });
    const ticket = ticketOf(first);
    // Made between the look of whoever takes the run up and its first commit, where nobody hears of it.
    const late: QueueStore = {
      ...deaf(store),
      commit: async (commit) => {
        if (commit.run?.status === "done") await decided;
        return store.commit(commit);
      },
    };
    const decided = (async () => {
      await using b = open(peer, [], { tools: [pay] });
      await expect.poll(async () => (await store.runs.load(first.runId))?.status).toBe("running");
      return b.decide(ticket, { ...APPROVE, id: "late" }).catch((thrown: unknown) => thrown);
    })();
    await using c = open(late, [text("never mind")], { tools: [pay] });
    expect(await c.run({ thread: "t", input: "forget it" })).toMatchObject({ status: "done", runId: first.runId });
    await decided;
    expect(await store.wishes.listOpen(first.runId)).toEqual([]);
  });

  it("a decision that comes too late, or edits what may not be edited, is refused by whoever executes the run, and buries nothing", async ({
    store,
    peer,
  }) => {
    const cases = [
      { code: "ticket_not_editable", decision: { id: decisionId("edits"), action: "approve", input: { n: 2 }, decidedAt: Date.now() } },
      { code: "ticket_expired", decision: { id: decisionId("late"), action: "approve", decidedAt: Date.now() + 86_400_000 } },
    ] as const;
    for (const [round, { code, decision }] of cases.entries()) {
      const [thread, id] = [threadId(`t${round}`), runId(`r${round}`)];
      const last = slow();
      const refusals: unknown[] = [];
      const log = { warn: (_: string, facts?: object) => void refusals.push(facts), error() {} };
      await using a = open(store, [FIXED_AND_SLOW], { tools: [fixed, last.tool], log });
      const run = a.stream({ thread, runId: id, input: "go" });
      await last.began;
      const ticket = ticketId(await openTicket(store, id));
      const wish = { type: "decision", threadId: thread, runId: id, ticketId: ticket } as const;
      // As a process writes it that cannot know better.
      await peer.wishes.append({ ...wish, decision }, { resume: true });
      await peer.dispatches.hint({ type: "wake", threadId: thread, runId: id });
      await expect.poll(() => refusals).toMatchObject([{ code, decisionId: decision.id }]);
      last.release();
      expect(await run.result).toMatchObject({ status: "waiting", tickets: [{ id: ticket }] });
      expect(await store.wishes.load(decision.id)).toHaveProperty("takenAt");
      await using c = open(peer, [text("denied")], { tools: [fixed] });
      expect(await (await c.decide(ticket, DENY)).result).toMatchObject({ status: "done", text: "denied" });
    }
  });

  it("one that is refused stands in nobody's way: the ticket is decided again from elsewhere while the run is at work", async ({
    store,
    peer,
  }) => {
    const last = slow();
    await using a = open(store, [FIXED_AND_SLOW, text("both")], { tools: [fixed, last.tool] });
    await using b = open(peer, [], { tools: [fixed] });
    const run = a.stream({ thread: "t", runId: R, input: "go" });
    await last.began;
    const ticket = ticketId(await openTicket(store));
    const decision = { id: decisionId("edits"), action: "approve", input: { n: 2 }, decidedAt: Date.now() } as const;
    await peer.wishes.append({ type: "decision", threadId: T, runId: R, ticketId: ticket, decision }, { resume: true });
    await peer.dispatches.hint({ type: "wake", threadId: T, runId: R });
    await expect.poll(() => store.wishes.listOpen(R)).toEqual([]);
    await b.decide(ticket, { ...APPROVE, id: "again" });
    await expect.poll(async () => (await store.runs.load(R))?.decided).toMatchObject([{ decisionId: "again", toolCallId: "c1" }]);
    last.release();
    expect(await run.result).toMatchObject({ status: "done", text: "both" });
  });

  it("the same from the queue", async ({ store, peer }) => {
    await using a = open(store, [toolCall("fixed", { n: 1 })], { tools: [fixed] });
    const first = await a.run({ thread: "t", runId: R, input: "go" });
    const ticket = ticketId(ticketOf(first));
    const decision = { id: decisionId("edits"), action: "approve", input: { n: 2 }, decidedAt: Date.now() } as const;
    await peer.wishes.append({ type: "decision", threadId: T, runId: R, ticketId: ticket, decision }, { resume: true });
    const refusals: unknown[] = [];
    const log = { warn: (_: string, facts?: object) => void refusals.push(facts), error() {} };
    await using worker = open(store, [text("denied")], { tools: [fixed], workers: true, log });
    await expect.poll(() => refusals).toMatchObject([{ code: "ticket_not_editable" }]);
    await expect.poll(() => store.wishes.listOpen(R)).toEqual([]);
    await expect.poll(async () => store.dispatches.countByStatus()).toMatchObject({ queued: 0, claimed: 0 });
    expect(await (await worker.decide(ticket, DENY)).result).toMatchObject({ status: "done", text: "denied" });
    expect((await store.dispatches.countByStatus())["dead-letter"]).toBe(0);
  });
});
