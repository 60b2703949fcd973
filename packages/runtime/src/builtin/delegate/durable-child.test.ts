import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { AwakenError, runId } from "@awaken/contract";
import type { QueueStore } from "@awaken/contract/store";
import { memoryStore } from "@awaken/stores/memory";
import { sqliteStore } from "@awaken/stores/sqlite";
import { afterAll, describe, expect, test } from "vitest";
import * as z from "zod";
import type { Runtime, RuntimeInit } from "../../create-runtime.ts";
import { World } from "../../run/crash.test-support.ts";
import type { RunResult } from "../../run/run-result.ts";
import { type CrashPoint, type CrashPoints, crashPoints } from "../../testing/crash-points.ts";
import { soleNode } from "../../testing/fake-clock.ts";
import { type ScriptedTurn, text, toolCall, toolCalls } from "../../testing/script.ts";
import { defineTool } from "../../tool/define-tool.ts";
import { wait } from "../../tool/reply.ts";
import { ask } from "../../tool/verdict.ts";
import { always, team } from "./team.test-support.ts";

const asks = (agent: string, id = "c1") => toolCall(`agent_run_${agent}`, { prompt: `ask ${agent}` }, { id });

const folder = mkdtempSync(join(tmpdir(), "awaken-children-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
let files = 0;

const STORES: readonly (readonly [string, () => QueueStore])[] = [
  ["memory", () => memoryStore()],
  ["sqlite", () => sqliteStore(join(folder, `${++files}.db`))],
];

/** A lead, who asks a researcher, who asks a clerk, who pays when somebody approves. All calls have the same id. */
function house(world: World, store: QueueStore, init: Partial<RuntimeInit> = {}) {
  const passOn = (to: string, name: string) =>
    always(({ role, text: said }) => (role === "tool" ? text(`${name} heard: ${said}`) : asks(to)));
  return team(
    {
      lead: { turns: passOn("researcher", "lead"), spec: { delegates: ["researcher"], tools: [] } },
      researcher: { turns: passOn("clerk", "researcher"), spec: { delegates: ["clerk"], tools: [] } },
      clerk: {
        turns: always(({ role, text: said }) => (role === "tool" ? text(`clerk got ${said}`) : toolCall("pay", { n: 5 }, { id: "c1" }))),
        spec: { tools: ["pay"] },
      },
    },
    {
      tools: [world.tool("pay", { approve: () => ask("Pay 5?"), reconcile: world.reconcile })],
      node: soleNode(crypto.randomUUID()),
      store,
      ...init,
    },
  ).runtime;
}

const ANSWER = 'lead heard: researcher heard: clerk got {"did":5}';

const ticketsOf = (result: RunResult) => (result.status === "waiting" ? result.tickets : []);

/** Decides whatever the root shows, until it is over. */
async function bringToEnd(runtime: Runtime, id: string): Promise<RunResult> {
  for (;;) {
    const result = await runtime.wait(id);
    if (result.status !== "waiting") return result;
    for (const ticket of ticketsOf(result)) {
      const decided = await runtime.decide(ticket.id, { action: "approve", id: `approve ${ticket.id}` });
      await decided.result;
    }
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
}

describe.each(STORES)("a durable child, on %s", (_, make) => {
  test("multi-agent 62: the root shows the ticket of a run three levels down; after a restart a decision on it runs the inner call once, and the root ends with the answer", async () => {
    await using store = make();
    const world = new World();
    const first = house(world, store, { workers: false });
    const waiting = await first.run({ agent: "lead", thread: "t", input: "go" });
    expect(waiting).toMatchObject({ status: "waiting", waitingReason: "child-run" });
    const [ticket, ...more] = ticketsOf(waiting);
    expect(more).toEqual([]);
    expect(ticket).toMatchObject({
      toolName: "pay",
      input: { n: 5 },
      message: "Pay 5?",
      rootRunId: waiting.runId,
      agentPath: ["lead", "researcher", "clerk"],
    });
    expect(ticket?.runId).not.toBe(waiting.runId);
    const rows = await store.runs.list({ rootRunId: runId(waiting.runId) });
    // Both may have begun in the same millisecond.
    expect(rows.items.map(({ status, agentId }) => `${agentId} ${status}`).sort()).toEqual(["clerk waiting", "researcher waiting"]);
    // Both are acked: nothing is held while people think.
    for (const { threadId } of rows.items) {
      expect((await store.dispatches.list(threadId, {})).map(({ status }) => status)).toEqual(["acked"]);
    }
    expect((await store.runs.load(runId(waiting.runId)))?.status).toBe("waiting");
    await first.close();
    expect(world.done).toEqual([]);

    const second = house(world, store, { workers: false });
    expect(ticketsOf(await second.wait(waiting.runId))).toMatchObject([{ id: ticket?.id }]);
    const decided = await second.decide(ticket?.id ?? "", { action: "approve", run: waiting.runId });
    expect(decided.id).toBe(waiting.runId);
    expect(await decided.result).toMatchObject({ status: "done", text: ANSWER, runId: waiting.runId });
    expect(world.done).toEqual(["pay 5"]);
    expect(await second.wait(waiting.runId)).toMatchObject({ status: "done", text: ANSWER });
    await second.close();
  });

  test("multi-agent 62: workers of other processes go on with the tree when somebody has decided", async () => {
    await using store = make();
    const world = new World();
    const named = (name: string) => ({ node: { name, isGone: () => false } });
    const asking = house(world, store, { workers: false, ...named("asking") });
    const started = await asking.start({ agent: "lead", thread: "t", input: "go" });
    const working = house(world, store, named("working"));
    const waiting = await untilTicket(working, started.runId);
    const [ticket] = ticketsOf(waiting);
    await asking.decide(ticket?.id ?? "", { action: "approve" });
    // Whoever decided does not follow the tree: the end of each child alone wakes its parent.
    await asking.close({ handOver: true });
    expect(await bringToEnd(working, started.runId)).toMatchObject({ status: "done", text: ANSWER });
    expect(world.done).toEqual(["pay 5"]);
    await working.close();
  });

  test.each(["here", "elsewhere"])("the ticket of a child can be decided under the id of a root that is at work %s", async (place) => {
    await using store = make();
    const world = new World();
    const { promise: looked, resolve: letLook } = Promise.withResolvers<void>();
    const look = defineTool({ id: "look", description: "", input: z.object({}), execute: () => looked });
    const open = (name: string) =>
      team(
        {
          lead: {
            turns: always(({ role, text: said }) =>
              role === "tool"
                ? text(`lead heard: ${said}`)
                : toolCalls([
                    { name: "look", input: {}, id: "l" },
                    { name: "agent_run_clerk", input: { prompt: "ask" }, id: "c1" },
                  ]),
            ),
            spec: { delegates: ["clerk"], tools: ["look"] },
          },
          clerk: {
            turns: always(({ role, text: said }) =>
              role === "tool" ? text(`clerk got ${said}`) : toolCall("pay", { n: 5 }, { id: "c1" }),
            ),
            spec: { tools: ["pay"] },
          },
        },
        {
          tools: [look, world.tool("pay", { approve: () => ask("Pay 5?"), reconcile: world.reconcile })],
          node: { name, isGone: () => false },
          store,
          workers: false,
        },
      ).runtime;
    await using runtime = open("one");
    await using other = open("two");
    const run = runtime.stream({ agent: "lead", thread: "t", input: "go" });
    for await (const event of run) {
      if (event.type !== "ticket-open") continue;
      const decided = await (place === "here" ? runtime : other).decide(event.ticket.id, { action: "approve", run: run.id });
      expect(decided.id).toBe(run.id);
      expect((await store.runs.load(runId(event.ticket.runId)))?.decided).toMatchObject([{ ticketId: event.ticket.id }]);
      letLook();
    }
    await run.result;
    expect(await bringToEnd(runtime, run.id)).toMatchObject({ status: "done", text: 'lead heard: clerk got {"did":5}' });
    expect(world.done).toEqual(["pay 5"]);
  });

  test("the ticket of a grandchild can be decided under the id of the run between, which is at work; under that of a run beside it there is no such ticket", async () => {
    await using store = make();
    const world = new World();
    const { promise: looked, resolve: letLook } = Promise.withResolvers<void>();
    const look = defineTool({ id: "look", description: "", input: z.object({}), execute: () => looked });
    const toLook = toolCall("look", {}, { id: "l" });
    const heard = (turn: ScriptedTurn) => always(({ role, text: said }) => (role === "tool" ? text(`heard: ${said}`) : turn));
    const beside = { name: "look", input: {}, id: "l" };
    const clerk = { name: "agent_run_clerk", input: { prompt: "ask" }, id: "c1" };
    const { runtime } = team(
      {
        lead: { turns: heard(asks("researcher")), spec: { delegates: ["researcher"], tools: [] } },
        researcher: { turns: heard(toolCalls([beside, clerk])), spec: { delegates: ["clerk"], tools: ["look"] } },
        clerk: { turns: heard(toolCall("pay", { n: 5 }, { id: "c1" })), spec: { tools: ["pay"] } },
        watch: { turns: heard(toLook), spec: { tools: ["look"] } },
      },
      { tools: [look, world.tool("pay", { approve: () => ask("Pay 5?") })], store, workers: false },
    );
    const other = runtime.stream({ agent: "watch", thread: "o", input: "go" });
    for await (const event of other) if (event.type === "tool-call-run") break;
    const run = runtime.stream({ agent: "lead", thread: "t", input: "go" });
    for await (const event of run) {
      if (event.type !== "ticket-open") continue;
      const { id, runId: leaf } = event.ticket;
      const between = (await store.runs.load(runId(leaf)))?.parentRunId ?? "";
      expect([between === run.id, (await store.runs.load(runId(between)))?.status]).toEqual([false, "running"]);
      await expect(runtime.decide(id, { action: "approve", run: other.id })).rejects.toMatchObject({ code: "ticket_not_found" });
      await runtime.decide(id, { action: "approve", run: between });
      expect((await store.runs.load(runId(leaf)))?.decided).toMatchObject([{ ticketId: id }]);
      letLook();
    }
    await run.result;
    expect(await bringToEnd(runtime, run.id)).toMatchObject({ status: "done" });
    expect([world.done, (await other.result).status]).toEqual([["pay 5"], "done"]);
    await runtime.close();
  });

  test("multi-agent 63: two children whose calls have the same id have tickets of their own, and each decision finds its own", async () => {
    await using store = make();
    const world = new World();
    const both = toolCalls([
      { name: "agent_run_clerk", input: { prompt: "1" }, id: "a" },
      { name: "agent_run_clerk", input: { prompt: "2" }, id: "b" },
    ]);
    const clerk = always(({ role, text: said }) => (role === "tool" ? text(said) : toolCall("pay", { n: Number(said) }, { id: "c1" })));
    const { runtime } = team(
      {
        lead: { turns: [both, text("both")], spec: { delegates: ["clerk"], tools: [] } },
        clerk: { turns: clerk, spec: { tools: ["pay"] } },
      },
      { tools: [world.tool("pay", { approve: () => ask("Pay?") })], store, node: soleNode("n"), workers: false },
    );
    const waiting = await runtime.run({ agent: "lead", input: "go" });
    const tickets = ticketsOf(waiting);
    expect(tickets.map(({ toolCallId }) => toolCallId)).toEqual(["c1", "c1"]);
    expect(new Set(tickets.map(({ id }) => id)).size).toBe(2);
    const second = tickets.find(({ input }) => input["n"] === 2);
    const denied = await runtime.decide(second?.id ?? "", { action: "deny", reason: "too much" });
    const still = await denied.result;
    expect(still).toMatchObject({ status: "waiting", runId: waiting.runId, tickets: [{ input: { n: 1 } }] });
    const approved = await runtime.decide(ticketsOf(still)[0]?.id ?? "", { action: "approve" });
    expect(await approved.result).toMatchObject({ status: "done", text: "both" });
    expect(world.done).toEqual(["pay 1"]);
    await runtime.close();
  });

  test("multi-agent 14: a tool whose child waits returns its suspension, and is called again with what became of it", async () => {
    await using store = make();
    const world = new World();
    const seen: unknown[] = [];
    const hire = defineTool({
      id: "hire",
      description: "",
      input: z.object({}),
      execute: async (_, ctx) => {
        seen.push(ctx.resume?.decision);
        if (ctx.resume?.decision.action === "answer") return ctx.resume.decision.result;
        const result = await ctx.runAgent({ agent: "clerk", input: "3" });
        return result.status === "waiting" ? wait(result.suspension) : result.text;
      },
    });
    const clerk = always(({ role, text: said }) => (role === "tool" ? text(said) : toolCall("pay", { n: Number(said) })));
    const { runtime } = team(
      { lead: { turns: [toolCall("hire", {}), text("ok")], spec: { tools: ["hire"] } }, clerk: { turns: clerk, spec: { tools: ["pay"] } } },
      { tools: [hire, world.tool("pay", { approve: () => ask("Pay?") })], store, node: soleNode("n"), workers: false },
    );
    const waiting = await runtime.run({ agent: "lead", input: "go" });
    expect(waiting).toMatchObject({ status: "waiting", tickets: [{ toolName: "pay", agentPath: ["lead", "clerk"] }] });
    const decided = await runtime.decide(ticketsOf(waiting)[0]?.id ?? "", { action: "approve" });
    expect(await decided.result).toMatchObject({ status: "done", text: "ok" });
    expect(seen).toMatchObject([undefined, { action: "answer", result: { status: "done", agentId: "clerk", text: '{"did":3}' } }]);
    await runtime.close();
  });

  test("multi-agent 62: a pure tool whose step was lost before it was on record is called again, and has the answer of the child that it started then", async () => {
    await using inner = make();
    let calls = 0;
    const store: QueueStore = {
      ...inner,
      commit: async (given) => {
        const isStep = given.threadId === "t" && given.run?.steps === 1 && given.dispatch?.type !== "ack";
        if (isStep && calls < 2) throw new AwakenError("storage_io", "down");
        return inner.commit(given);
      },
    };
    const research = defineTool({
      id: "research",
      description: "Asks the clerk",
      input: z.object({}),
      pure: true,
      execute: async (_, { runAgent }) => {
        calls += 1;
        const { status, text: said } = await runAgent({ agent: "clerk", input: "what?" });
        return `clerk: ${status} ${said}`;
      },
    });
    const heard = always(({ role, text: said }) => (role === "tool" ? text(said) : toolCall("research", {}, { id: "c1" })));
    const { runtime, models } = team({ lead: { turns: heard }, clerk: { turns: [text("42"), text("43")] } }, { tools: [research], store });
    expect(await runtime.run({ agent: "lead", thread: "t", input: "x" })).toMatchObject({ status: "done", text: "clerk: done 42" });
    expect([calls, models["clerk"]?.requests.length]).toEqual([2, 1]);
    await runtime.close();
  });

  test("multi-agent 18: cancelling the root of a tree that waits ends every run of it, and its tickets are closed", async () => {
    await using store = make();
    const world = new World();
    const runtime = house(world, store);
    const waiting = await runtime.run({ agent: "lead", thread: "t", input: "go" });
    const [ticket] = ticketsOf(waiting);
    expect(await runtime.cancel(waiting.runId)).toBe(true);
    expect(await runtime.wait(waiting.runId)).toMatchObject({ status: "cancelled" });
    await untilDone(store, waiting.runId);
    const rows = (await store.runs.list({ rootRunId: runId(waiting.runId) })).items;
    expect(rows.map((run) => (run.status === "done" ? run.outcome.termination.type : run.status))).toEqual(["cancelled", "cancelled"]);
    await expect(runtime.decide(ticket?.id ?? "", { action: "approve" })).rejects.toMatchObject({ code: "ticket_not_open" });
    expect(world.done).toEqual([]);
    await runtime.close();
  });

  test("multi-agent 18: a new message to a root that waits for children cancels them", async () => {
    await using store = make();
    const world = new World();
    const runtime = house(world, store);
    const waiting = await runtime.run({ agent: "lead", thread: "t", input: "go" });
    const next = await runtime.run({ agent: "lead", thread: "t", input: "never mind" });
    expect(ticketsOf(next)).toHaveLength(1);
    expect(ticketsOf(next)[0]?.id).not.toBe(ticketsOf(waiting)[0]?.id);
    await expect(runtime.decide(ticketsOf(waiting)[0]?.id ?? "", { action: "approve" })).rejects.toMatchObject({ code: "ticket_not_open" });
    expect(await bringToEnd(runtime, next.runId)).toMatchObject({ status: "done", text: ANSWER });
    expect(world.done).toEqual(["pay 5"]);
    await runtime.close();
  });

  test("multi-agent 62: a dead letter of a child is the failure of its parent's call", async () => {
    await using store = make();
    const world = new World();
    const first = house(world, store, { workers: false });
    const waiting = await first.run({ agent: "lead", thread: "t", input: "go" });
    const [ticket] = ticketsOf(waiting);
    await first.close();
    // The only try of the clerk dies with its process.
    const points = crashPoints({ at: "commit-end", nth: 2, mode: "throw" });
    const second = house(world, dying(store, points), { workers: false, maxAttempts: 1 });
    await second.decide(ticket?.id ?? "", { action: "approve" }).then((run) => run.result.catch(() => {}));
    expect(points.hasCrashed).toBe(true);
    const third = house(world, store);
    await third.recover();
    const ended = await bringToEnd(third, waiting.runId);
    expect(ended).toMatchObject({ status: "done", text: expect.stringMatching(/^lead heard: researcher heard: clerk: failed: /) });
    const rows = (await store.runs.list({ rootRunId: runId(waiting.runId) })).items;
    // Two that began in the same millisecond stand in any order.
    expect(
      Object.fromEntries(rows.map((run) => [run.agentId, run.status === "done" ? run.outcome.termination : run.status])),
    ).toMatchObject({
      researcher: { type: "natural-end" },
      clerk: { type: "error", code: "dead_letter" },
    });
    expect(rows).toHaveLength(2);
    await third.close();
  });
});

/** What a process that is gone leaves undone, its last words to the queue too. */
function dying(store: QueueStore, points: CrashPoints): QueueStore {
  const dispatches = points.commits(store.dispatches, "nack", "release");
  const commits = points.commits(store, "commit", "transaction");
  return new Proxy(commits, { get: (target, name) => (name === "dispatches" ? dispatches : Reflect.get(target, name)) });
}

async function untilTicket(runtime: Runtime, id: string): Promise<RunResult> {
  for (;;) {
    const result = await runtime.wait(id);
    if (ticketsOf(result).length > 0 || result.status !== "waiting") return result;
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
}

async function untilDone(store: QueueStore, root: string): Promise<void> {
  while ((await store.runs.count({ rootRunId: runId(root), statuses: ["created", "running", "waiting"] })) > 0) {
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
}

/** Runs the tree until the process dies there. Gives the id of the root, which may not be on record. */
async function cutOff(
  store: QueueStore,
  world: World,
  at: CrashPoint,
  nth: number,
): Promise<{ readonly id: string; readonly hasCrashed: boolean }> {
  const points = crashPoints({ at, nth, mode: "throw" });
  const runtime = house(world, points.commits(store, "commit", "transaction"), { workers: false });
  const run = runtime.stream({ agent: "lead", thread: "t", input: "go" });
  const result = await run.result.catch(() => undefined);
  if (result?.status === "waiting" && !points.hasCrashed) {
    for (const ticket of ticketsOf(result)) {
      const decided = await runtime.decide(ticket.id, { action: "approve", id: `approve ${ticket.id}` }).catch(() => undefined);
      await decided?.result.catch(() => undefined);
    }
  }
  return { id: run.id, hasCrashed: points.hasCrashed };
}

describe.each(STORES.slice(1))("three levels with an approval at the bottom, on %s", (_, make) => {
  test.each(["commit-start", "commit-end"] as const)(
    "multi-agent 62: the process dies at each %s; another one brings the tree to its end, and the effect happens once",
    async (at) => {
      for (let nth = 1; ; nth++) {
        await using store = make();
        const world = new World();
        const { id, hasCrashed } = await cutOff(store, world, at, nth);
        if (!hasCrashed) {
          expect(nth).toBeGreaterThan(15);
          return;
        }
        const isThere = (await store.runs.load(runId(id))) !== undefined;
        const next = house(world, store);
        await next.recover();
        const ended = isThere ? await bringToEnd(next, id) : undefined;
        if (isThere) expect(ended, `${at} ${nth}`).toMatchObject({ status: "done", text: ANSWER });
        expect(world.done, `${at} ${nth}`).toEqual(isThere ? ["pay 5"] : []);
        await next.close();
      }
    },
  );
});
