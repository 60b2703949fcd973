import { type RunId, runId, threadId } from "@awaken/contract";
import type { QueueStore, ScopedStore } from "@awaken/contract/store";
import { memoryStore } from "@awaken/stores/memory";
import { afterEach, describe, expect, test, vi } from "vitest";
import * as z from "zod";
import { office, works } from "../builtin/background/tasks.test-support.ts";
import { always, team } from "../builtin/delegate/team.test-support.ts";
import type { RuntimeInit } from "../create-runtime.ts";
import { crashPoints } from "../testing/crash-points.ts";
import { text, toolCall, toolCalls } from "../testing/script.ts";
import { ticketsOf } from "../testing/tickets-of.ts";
import { defineTool } from "../tool/define-tool.ts";
import { ask } from "../tool/verdict.ts";
import { GONE, gone } from "./gone.test-support.ts";
import { moreRoom } from "./more-door.ts";

afterEach(() => {
  vi.restoreAllMocks();
});

const statuses = async (store: ScopedStore, parentRunId: RunId) =>
  (await store.runs.list({ parentRunId })).items.map(({ status }) => status);

/** The store of a process that is gone as soon as one of its runs is over. */
function untilOver(store: QueueStore): QueueStore {
  let isGone = false;
  const alive =
    <Args extends readonly unknown[], R>(call: (...args: Args) => Promise<R>) =>
    async (...args: Args): Promise<R> => {
      if (isGone) throw new Error("gone");
      return call(...args);
    };
  return {
    ...store,
    transaction: alive(store.transaction),
    commit: alive(async (given) => {
      const done = await store.commit(given);
      isGone = given.run?.status === "done";
      return done;
    }),
    dispatches: { ...store.dispatches, claimDispatch: alive(store.dispatches.claimDispatch) },
  };
}

const SOON = { timeout: 5_000 };

describe("a run that goes on where the part is gone that ends what it began", () => {
  const pay = defineTool({ id: "pay", description: "Pays", input: z.object({}), approve: () => ask("Pay?"), execute: () => "paid" });
  const MEMBERS = {
    lead: {
      turns: always(({ text: said }) => (said === "enough" ? text("as you like") : toolCall("agent_run_clerk", { prompt: "pay" }))),
      spec: { delegates: ["clerk"], tools: [] },
    },
    clerk: { turns: always(() => toolCall("pay", {})), spec: { tools: ["pay"] } },
  };

  const house = (store: QueueStore, init: Partial<RuntimeInit> = {}) => team(MEMBERS, { tools: [pay], store, ...init });

  test.each([
    ["its own", {}],
    ["another run", { runId: "next" }],
  ])("is left as it was, with the run that it waits for: %s", async (_, asked) => {
    const store = memoryStore();
    const { runtime } = house(store, { workers: false });
    const waiting = await runtime.run({ agent: "lead", thread: "t", input: "go" });
    const before = await store.runs.load(waiting.runId);
    expect([waiting.status, ...(await statuses(store, waiting.runId))]).toEqual(["waiting", "waiting"]);
    gone(moreRoom);
    await expect(runtime.run({ ...asked, agent: "lead", thread: "t", input: "enough" })).rejects.toMatchObject(GONE);
    expect(await store.runs.load(waiting.runId)).toEqual(before);
    vi.restoreAllMocks();
    const ended = await runtime.run({ ...asked, agent: "lead", thread: "t", input: "enough" });
    expect(ended).toMatchObject({ status: "done", text: "as you like" });
    await runtime.close();
    // It was told to stop: whoever works next on what is queued ends it.
    const next = house(store);
    await expect.poll(() => statuses(store, waiting.runId), SOON).toEqual(["done"]);
    expect(await store.runs.listOpenTickets(waiting.runId)).toEqual([]);
    await next.runtime.close();
  });

  test("is left as it was, by a worker who is to take it up because a run that it waited for is over", async () => {
    const store = memoryStore();
    const clerk = { ...MEMBERS.clerk, turns: always(({ role }) => (role === "tool" ? text("paid") : toolCall("pay", {}))) };
    const turns = always(({ role }) => (role === "tool" ? text("all done") : toolCall("agent_run_clerk", { prompt: "pay" })));
    const members = { lead: { ...MEMBERS.lead, turns }, clerk };
    const first = team(members, { tools: [pay], store, workers: false });
    const waiting = await first.runtime.run({ agent: "lead", thread: "t", input: "go" });
    await first.runtime.close();
    const dying = team(members, { tools: [pay], store: untilOver(store), workers: false });
    await dying.runtime.decide(ticketsOf(waiting)[0]?.id ?? "", { action: "approve" });
    await expect.poll(() => statuses(store, waiting.runId), SOON).toEqual(["done"]);
    const before = await store.runs.load(waiting.runId);
    expect(before).toMatchObject({ status: "waiting" });
    gone(moreRoom);
    const warned: string[] = [];
    const second = team(members, { tools: [pay], store, log: { warn: (message) => void warned.push(message), error() {} } });
    await expect.poll(() => warned, SOON).toEqual([`a dispatch is left to other nodes: ${GONE.message}`]);
    expect(await store.runs.load(waiting.runId)).toEqual(before);
    await second.runtime.close();
  });

  test("is left as it was, with the decision on a call of its own beside the run that it waits for", async () => {
    const store = memoryStore();
    const both = toolCalls([
      { name: "agent_run_clerk", input: { prompt: "pay" } },
      { name: "pay", input: {} },
    ]);
    const lead = {
      turns: always(({ role }) => (role === "tool" ? text("all done") : both)),
      spec: { delegates: ["clerk"], tools: ["pay"] },
    };
    const { runtime } = team({ ...MEMBERS, lead }, { tools: [pay], store, workers: false });
    const waiting = await runtime.run({ agent: "lead", thread: "t", input: "go" });
    const [ticket] = ticketsOf(waiting).filter((each) => each.runId === waiting.runId);
    const before = await store.runs.load(waiting.runId);
    gone(moreRoom);
    await expect(runtime.decide(ticket?.id ?? "", { action: "approve" })).rejects.toMatchObject(GONE);
    expect(await store.runs.load(waiting.runId)).toEqual(before);
    vi.restoreAllMocks();
    await runtime.decide(ticket?.id ?? "", { action: "approve" });
    await expect.poll(async () => (await store.runs.listOpenTickets(waiting.runId)).length, SOON).toBe(1);
    await runtime.close();
  });

  test("is not begun behind one that was ended for a run that never began: the child of that one could not be told", async () => {
    const store = memoryStore();
    const first = house(store, { workers: false });
    const waiting = await first.runtime.run({ agent: "lead", thread: "t", input: "go" });
    await first.runtime.close();
    const points = crashPoints({ at: "commit-end", nth: 1, mode: "throw" });
    const dying = house(points.commits(store, "commit", "transaction"), { workers: false });
    await dying.runtime.run({ agent: "lead", thread: "t", runId: "next", input: "enough" }).catch(() => {});
    expect(await store.runs.load(runId("next"))).toBeUndefined();
    expect(await store.runs.load(waiting.runId)).toMatchObject({ status: "done" });
    const { runtime } = house(store, { workers: false });
    gone(moreRoom);
    const asked = { agent: "lead", thread: "t", runId: "last", input: "enough" };
    await expect(runtime.run(asked)).rejects.toMatchObject(GONE);
    expect(await store.runs.load(runId("last"))).toBeUndefined();
    vi.restoreAllMocks();
    expect(await runtime.run(asked)).toMatchObject({ status: "done", text: "as you like" });
    await runtime.close();
    const next = house(store);
    await expect.poll(() => statuses(store, waiting.runId), SOON).toEqual(["done"]);
    expect(await store.runs.listOpenTickets(waiting.runId)).toEqual([]);
    await next.runtime.close();
  });

  test("is left to other nodes by a worker, who says so once, and keeps its tries", async () => {
    const store = memoryStore();
    const first = house(store, { workers: false });
    const waiting = await first.runtime.run({ agent: "lead", thread: "t", input: "go" });
    const { runId: queued } = await first.runtime.start({ agent: "lead", thread: "t", input: "enough" });
    await first.runtime.close();
    gone(moreRoom);
    const warned: string[] = [];
    const log = { warn: (message: string) => void warned.push(message), error: (message: string) => void warned.push(message) };
    const second = house(store, { log });
    await expect.poll(() => warned, SOON).toEqual([`a dispatch is left to other nodes: ${GONE.message}`]);
    const open = async () => (await store.dispatches.list(threadId("t"), {})).filter(({ status }) => status !== "acked");
    await expect.poll(open, SOON).toMatchObject([{ status: "queued", attemptCount: 0 }]);
    expect(await store.runs.load(waiting.runId)).toMatchObject({ status: "waiting" });
    await second.runtime.close();
    vi.restoreAllMocks();
    const third = house(store);
    await expect.poll(async () => (await store.runs.load(runId(queued)))?.status, { timeout: 15_000 }).toBe("done");
    await expect.poll(() => statuses(store, waiting.runId), SOON).toEqual(["done"]);
    await third.runtime.close();
  });

  test.each([
    ["its own", {}, "waiting"],
    ["another run", { runId: "next" }, "waiting"],
  ])("is left as it was, with its tasks: %s", async (_, asked, after) => {
    const store = memoryStore();
    const { runtime, does } = office({ lead: [works, text("I wait"), text("done")], aide: [] }, { store, workers: false });
    does(async ({ tasks }) => void (await tasks.spawnAgent({ agent: "aide", input: "help" })));
    const run = await runtime.run({ agent: "lead", thread: "t", input: "go" });
    const before = await store.runs.load(run.runId);
    expect(before).toMatchObject({ status: "waiting", waiting: { reason: "awaiting-tasks" } });
    gone(moreRoom);
    await expect(runtime.run({ ...asked, agent: "lead", thread: "t", input: "and?" })).rejects.toMatchObject(GONE);
    expect(await store.runs.load(run.runId)).toEqual(before);
    vi.restoreAllMocks();
    expect(await runtime.run({ ...asked, agent: "lead", thread: "t", input: "and?" })).toMatchObject({ status: after, text: "done" });
    await runtime.close();
  });
});
