import { createClient } from "@awaken/client";
import { type AgentEvent, messageText, runId, type Ticket, threadId } from "@awaken/contract";
import type { QueueStore } from "@awaken/contract/store";
import { ask, createRuntime, defineTool, type Runtime } from "@awaken/runtime";
import { type ScriptedTurn, text, toolCall, toolCalls } from "@awaken/runtime/testing";
import { afterAll, describe, expect, test } from "vitest";
import * as z from "zod";
import { openServer } from "../server/support/client.ts";
import { ENGINES, openShared, stopServer } from "./support/nodes.ts";
import { factsOf, Reader, readAll } from "./support/reader.ts";
import { quiet, speaker } from "./support/speaker.ts";

afterAll(stopServer);

/** What an agent says depends on its conversation alone, so that any process can go on with it. */
const saying = (say: (results: number, last: string) => ScriptedTurn) =>
  speaker(({ messages }) => say(messages.filter(({ role }) => role === "tool").length, messages.slice(-1).map(messageText).join("")));

const delegating = (to: string) =>
  saying((results, last) => (results > 0 ? text(`said: ${last}`) : toolCall(`agent_run_${to}`, { prompt: "go" }, { id: "c1" })));

/** A lead asks a researcher, who asks a clerk, who has to ask twice. */
function house(store: QueueStore, workers = false): Runtime {
  const pay = defineTool({
    id: "pay",
    description: "Pays",
    input: z.object({ nth: z.number() }),
    approve: ({ nth }) => ask(`Pay ${nth}?`),
    execute: ({ nth }) => `paid ${nth}`,
  });
  const providers = {
    lead: delegating("researcher"),
    both: saying((results) =>
      results > 0
        ? text("both")
        : toolCalls(["c1", "c2"].map((id) => ({ id, name: "agent_run_researcher", input: { prompt: `go ${id}` } }))),
    ),
    researcher: delegating("clerk"),
    clerk: saying((results, last) => (results === 2 ? text(last) : toolCall("pay", { nth: results + 1 }, { id: `p${results + 1}` }))),
  };
  return createRuntime({
    providers,
    models: Object.fromEntries(Object.keys(providers).map((id) => [id, { provider: id, model: "m" }])),
    agents: {
      lead: { model: "lead", delegates: ["researcher"], tools: [] },
      both: { model: "both", delegates: ["researcher"], tools: [] },
      researcher: { model: "researcher", delegates: ["clerk"], tools: [] },
      clerk: { model: "clerk", tools: ["pay"] },
    },
    tools: [pay],
    log: quiet,
    store,
    workers,
  });
}

const PATH = ["lead", "researcher", "clerk"];

const opened = (events: readonly AgentEvent[]): readonly Ticket[] =>
  events.flatMap((event) => (event.type === "ticket-open" ? [event.ticket] : []));

const leftOpen = (events: readonly AgentEvent[]): readonly Ticket[] =>
  events.findLast((event) => event.type === "run-end")?.tickets ?? expect.fail("the run did not leave");

const isTicket =
  (nth: number) =>
  (event: AgentEvent): boolean =>
    event.type === "ticket-open" && event.ticket.message === `Pay ${nth}?`;

const idOf = (tickets: readonly Ticket[]): string => tickets[0]?.id ?? expect.fail("there is no ticket");

describe.each(ENGINES)("tickets of a family on %s", (engine) => {
  test("multi-agent 62: whoever follows a run hears of tickets at any depth below it, in another process, while it waits and after a restart", async () => {
    await using shared = await openShared(engine);
    const [store, peer] = shared.stores;
    const first = house(store);
    await using there = house(peer);
    await store.threads.create({ id: threadId("t") });
    const early = new Reader(there.attach("t"));
    const live: AgentEvent[] = [];
    const run = first.stream({ agent: "lead", thread: "t", input: "go" });
    for await (const event of run) live.push(event);
    const waiting = await run.result;
    if (waiting.status !== "waiting") return expect.fail(waiting.status);
    const [ticket] = waiting.tickets;
    expect(ticket).toMatchObject({ message: "Pay 1?", rootRunId: run.id, agentPath: PATH });
    // What was told live is what is on record: the ticket, and the end of the run with it.
    expect(opened(live)).toEqual([ticket]);
    expect(leftOpen(live)).toEqual([ticket]);
    await early.until(({ type }) => type === "run-end");
    expect(opened(early.events)).toEqual([ticket]);
    expect(leftOpen(early.events)).toEqual([ticket]);
    // The run in between shows it too, and the row stays with the run that asks.
    const family = (await store.runs.list({ rootRunId: runId(run.id), limit: 10 })).items;
    const middle = family.find(({ agentId }) => agentId === "researcher") ?? expect.fail();
    expect(leftOpen(await readAll(there, middle.runId))).toEqual([ticket]);
    expect(opened(await readAll(there, middle.runId))).toEqual([ticket]);
    expect((await store.runs.load(runId(run.id)))?.status).toBe("waiting");
    expect(await store.runs.load(runId(run.id))).toMatchObject({ waiting: { reason: "child-run", tickets: [] } });
    await first.close();

    // Decided from elsewhere: the clerk asks again, and the runs above it are executed by nobody.
    await using second = house(peer);
    expect(factsOf(await readAll(second, run.id))).toEqual(factsOf(early.events));
    const decided = await second.decide(ticket?.id ?? "", { action: "approve", id: "d1" });
    expect(await decided.result).toMatchObject({ status: "waiting", runId: run.id });
    const next = await early.until(isTicket(2));
    if (next.type !== "ticket-open") return expect.fail();
    expect(next.ticket).toMatchObject({ rootRunId: run.id, agentPath: PATH });
    expect(opened(await readAll(second, middle.runId))).toEqual([ticket, next.ticket]);

    const last: AgentEvent[] = [];
    for await (const event of await second.decide(next.ticket.id, { action: "approve", id: "d2" })) last.push(event);
    expect(last.map(({ type }) => type)).toContain("decision-taken");
    await early.until((event) => event.type === "run-end" && event.result.status === "done");
    const seen = await early.leave();
    expect(seen.flatMap((event) => (event.type === "decision-taken" ? [event.ticketId] : []))).toEqual([ticket?.id, next.ticket.id]);
    expect(leftOpen(seen)).toEqual([]);
    expect(factsOf(await readAll(second, "t"))).toEqual(factsOf(seen));
  });

  test("multi-agent 62: whoever follows hears that a run below has begun before he hears of its ticket, at any depth, early or late", async () => {
    await using shared = await openShared(engine);
    const [store, peer] = shared.stores;
    await using here = house(store);
    await using there = house(peer);
    await store.threads.create({ id: threadId("t") });
    const early = new Reader(there.attach("t"));
    const waiting = await here.run({ agent: "both", thread: "t", input: "go" });
    if (waiting.status !== "waiting") return expect.fail(waiting.status);
    await early.until(({ type }) => type === "run-end");
    const family = (await store.runs.list({ rootRunId: runId(waiting.runId), limit: 10 })).items;
    const middle = family.filter(({ agentId }) => agentId === "researcher");
    expect(middle).toHaveLength(2);
    const late = await Promise.all([waiting.runId, ...middle.map((run) => run.runId)].map((id) => readAll(there, id)));
    const whole = late[0] ?? [];
    for (const [index, { cursor }] of whole.entries()) {
      if (cursor === undefined) continue;
      expect(factsOf(await readAll(there, waiting.runId, cursor)), `behind ${cursor}`).toEqual(factsOf(whole.slice(index + 1)));
    }
    for (const events of [await early.leave(), ...late]) {
      const begun: string[][] = [];
      for (const event of events) {
        if (event.type === "child-start") begun.push([...event.agentPath]);
        if (event.type !== "ticket-open") continue;
        const { agentPath = [] } = event.ticket;
        expect(begun).toContainEqual(agentPath.slice(0, begun[0]?.length));
      }
      expect(opened(events).length).toBeGreaterThan(0);
    }
  });

  test("multi-agent 62: the tickets below are there when the events that told of them are gone", async () => {
    let now = 1_000;
    await using shared = await openShared(engine, { clock: () => now });
    const [store, peer] = shared.stores;
    await using here = house(store);
    const waiting = await here.run({ agent: "lead", thread: "t", input: "go" });
    if (waiting.status !== "waiting") return expect.fail(waiting.status);
    now += 1_000_000;
    await store.sweep({ eventsMs: 10 });
    await using there = house(peer);
    expect(opened(await readAll(there, "t"))).toEqual(waiting.tickets);
    expect(opened(await readAll(there, waiting.runId))).toEqual(waiting.tickets);
  });

  test("a run shows the tickets of the runs below it, and not those of another run of the same agent beside it", async () => {
    await using shared = await openShared(engine);
    await using here = house(shared.stores[0]);
    const waiting = await here.run({ agent: "both", thread: "t", input: "go" });
    if (waiting.status !== "waiting") return expect.fail(waiting.status);
    const family = (await shared.stores[0].runs.list({ rootRunId: runId(waiting.runId), limit: 10 })).items;
    const middles = family.filter(({ agentId }) => agentId === "researcher");
    expect(middles).toHaveLength(2);
    for (const { runId: middle } of middles) {
      const own = waiting.tickets.filter((ticket) => family.find((run) => run.runId === ticket.runId)?.parentRunId === middle);
      expect(own).toHaveLength(1);
      expect(leftOpen(await readAll(here, middle))).toEqual(own);
      expect(await here.wait(middle)).toMatchObject({ status: "waiting", tickets: own });
    }
  });

  test("multi-agent 62: over HTTP and through the client it is the same", async () => {
    await using shared = await openShared(engine);
    const [store, peer] = shared.stores;
    const first = house(store);
    const waiting = await first.run({ agent: "lead", thread: "t", input: "go" });
    if (waiting.status !== "waiting") return expect.fail(waiting.status);
    await first.close();
    await using runtime = house(peer, true);
    const server = openServer({ runtime });
    const client = createClient({ url: "http://localhost:1", fetch: server.fetch });
    const leaving = new AbortController();
    const follower = new Reader(client.attach("t", { signal: leaving.signal }));
    await follower.until(({ type }) => type === "run-end");
    expect(opened(follower.events)).toEqual(waiting.tickets);
    expect(leftOpen(follower.events)).toEqual(waiting.tickets);
    for (const path of [`/v1/runs/${waiting.runId}`, "/v1/threads/t/runs/latest"]) {
      const answer: unknown = await (await server.fetch(new Request(`http://localhost:1${path}`))).json();
      expect(answer).toMatchObject({ status: "waiting", tickets: waiting.tickets });
    }
    const decided = await client.decide(idOf(waiting.tickets), { action: "approve", id: "d1" });
    await decided.result;
    const next = await follower.until(isTicket(2));
    const stream = await client.decide(next.type === "ticket-open" ? next.ticket.id : "", { action: "approve", id: "d2" });
    expect(await stream.result).toMatchObject({ status: "done", runId: waiting.runId });
    await follower.until((event) => event.type === "run-end" && event.result.status === "done");
    leaving.abort();
    expect(leftOpen(await follower.leave())).toEqual([]);
  });
});
