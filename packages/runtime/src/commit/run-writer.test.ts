import { messageId, runId, threadId, ticketId, toolCallId } from "@awaken/contract";
import type { QueueStore, ThreadCommit } from "@awaken/contract/store";
import { memoryStore } from "@awaken/stores/memory";
import { sqliteStore } from "@awaken/stores/sqlite";
import { describe, expect, test } from "vitest";
import * as z from "zod";
import { createRuntime, type RuntimeInit } from "../create-runtime.ts";
import { command } from "../phase/command.ts";
import { defineState } from "../state/key.ts";
import { runLifecycle } from "../state/run-lifecycle.ts";
import { StateStore } from "../state/store.ts";
import { toolCallStates } from "../state/tool-call-states.ts";
import { fakeClock } from "../testing/fake-clock.ts";
import { text, toolCalls } from "../testing/script.ts";
import { type ScriptStep, scripted } from "../testing/scripted.ts";
import { ticketsOf } from "../testing/tickets-of.ts";
import { defineTool } from "../tool/define-tool.ts";
import { reply } from "../tool/reply.ts";
import { ask } from "../tool/verdict.ts";
import { Landing } from "./land.ts";
import { MemoryThreads } from "./memory-threads.ts";
import { openTickets } from "./open-tickets.ts";
import { RunWriter } from "./run-writer.ts";
import { Tally } from "./tally.ts";
import { Transcript } from "./transcript.ts";

/** Sooner than a schema that does not answer is given up. */
const SOON = 10_000;
const SILENT = { warn() {}, error() {} };
const T = threadId("t");
const never = (): never => {
  throw new Error("not here");
};
const GO = { thread: "t", runId: "r", input: "go" } as const;
const APPROVE = { action: "approve" } as const;

const open = (store: QueueStore, turns: readonly ScriptStep[], init: Partial<RuntimeInit>) =>
  createRuntime({
    providers: { p: scripted(turns) },
    models: { m: { provider: "p", model: "x" } },
    agents: { a: { model: "m" } },
    log: SILENT,
    workers: false,
    store,
    ...init,
  });

/** The store, and whoever is asked before and after each commit. */
function watched(
  store: QueueStore,
  see: { before?: (given: ThreadCommit) => Promise<void>; after?: (given: ThreadCommit) => void },
): QueueStore {
  const seeing =
    (commit: QueueStore["commit"]): QueueStore["commit"] =>
    async (given) => {
      await see.before?.(given);
      const result = await commit(given);
      see.after?.(given);
      return result;
    };
  const transaction: QueueStore["transaction"] = (work) =>
    store.transaction((ports) => work({ ...ports, commit: seeing((given) => ports.commit(given)) }));
  return { ...store, commit: seeing((given) => store.commit(given)), transaction };
}

const turns = async () => {
  for (let turn = 0; turn < 50; turn++) await new Promise((resolve) => setImmediate(resolve));
};

const STORES: readonly (readonly [string, (clock: () => number) => QueueStore])[] = [
  ["memory", (clock) => memoryStore({ clock })],
  ["sqlite", (clock) => sqliteStore(":memory:", { clock })],
];

/** `brief` expires soon; its edited input is looked at for as long as the test wants. */
function tools(ran: string[], looking: { wait: Promise<void>; onLook: () => void }) {
  const amount = z.object({ n: z.number() }).refine(async ({ n }) => {
    if (n !== 7) return true;
    looking.onLook();
    await looking.wait;
    return true;
  });
  const tool = (id: string, approve: () => ReturnType<typeof ask>) =>
    defineTool({ id, description: "", input: amount, approve, execute: ({ n }) => void ran.push(`${id} ${n}`) });
  return [tool("brief", () => ask("Soon?", { expiresInMs: SOON })), tool("pay", () => ask("Pay?"))];
}

const CALLS = toolCalls(["brief", "pay"].map((name, index) => ({ name, input: { n: index }, id: `c${index}` })));

describe.each(STORES)("a ticket that expired, on %s", (_, make) => {
  test("is denied on record before anybody is told", async () => {
    const clock = fakeClock(1000);
    await using store = make(() => clock.now());
    const onRecord = new Set<string>();
    const seen = watched(store, { after: ({ run }) => void run?.decided.map(({ ticketId: id }) => onRecord.add(id)) });
    const runtime = open(seen, [CALLS, text("done")], { clock, tools: tools([], { wait: Promise.resolve(), onLook() {} }) });
    const [brief, pay] = ticketsOf(await runtime.run(GO));
    await clock.advance(SOON);
    const run = await runtime.decide(pay?.id ?? "", APPROVE);
    const told: unknown[] = [];
    for await (const event of run)
      if (event.type === "decision-taken") told.push([event.ticketId, event.action, onRecord.has(event.ticketId)]);
    expect(told).toContainEqual([brief?.id, "deny", true]);
    expect((await run.result).status).toBe("done");
  });

  test("is not denied while a decision that came in time is looked at", async () => {
    const clock = fakeClock(1000);
    await using store = make(() => clock.now());
    const [look, looked, gate, held] = [0, 1, 2, 3].map(() => Promise.withResolvers<void>());
    if (look === undefined || looked === undefined || gate === undefined || held === undefined) return never();
    const ran: string[] = [];
    let isGated = false;
    const seen = watched(store, {
      before: async ({ events = [] }) => {
        if (!isGated || !events.some(({ draft }) => draft.kind === "run-resumed")) return;
        held.resolve();
        await gate.promise;
      },
    });
    const runtime = open(seen, [CALLS, text("done")], { clock, tools: tools(ran, { wait: look.promise, onLook: looked.resolve }) });
    const [brief, pay] = ticketsOf(await runtime.run(GO));
    isGated = true;
    const resumed = await runtime.decide(pay?.id ?? "", APPROVE);
    await held.promise;
    const edited = runtime.decide(brief?.id ?? "", { ...APPROVE, input: { n: 7 }, id: "in-time" });
    await looked.promise;
    await clock.advance(SOON);
    gate.resolve();
    // The run has time to come to the calls that it goes on with.
    await turns();
    look.resolve();
    await edited;
    expect((await resumed.result).status).toBe("done");
    const record = await store.runs.load(runId("r"));
    expect(record?.decided.filter(({ ticketId }) => ticketId === brief?.id).map(({ decisionId }) => decisionId)).toEqual(["in-time"]);
    expect(ran.toSorted()).toEqual(["brief 7", "pay 1"]);
  });
});

test("what comes while a commit is under way rides in the next one: what was given to the store stays as it was", () => {
  const [first, second] = ["a", "b"].map((id) => ({ id: messageId(id), role: "user" as const, content: [] }));
  if (first === undefined || second === undefined) return never();
  const transcript = new Transcript([]);
  transcript.append(first);
  const given = transcript.delta(0, transcript.size);
  transcript.append(second);
  expect(given).toEqual([first]);
  transcript.landed(0, 1);
  expect(transcript.delta(1)).toEqual([second]);
});

test("what fails behind a commit is no failed commit: nothing of it rides again", async () => {
  const identity = { threadId: T, runId: runId("r"), agentId: "a", origin: "user", runMode: "foreground", adapter: "internal" } as const;
  const threads = new MemoryThreads(() => 0);
  const commits: ThreadCommit[] = [];
  const store = {
    ...{ runs: threads.runs, messages: threads.messages, transaction: threads.transaction.bind(threads) },
    commit: (given: ThreadCommit) => {
      commits.push(given);
      return threads.commit(given);
    },
  };
  const activation = {
    intent: { type: "new-intent" },
    options: { frontendTools: [] },
    trace: { origin: "user", runMode: "foreground", adapter: "internal" },
  } as const;
  const landing = new Landing({
    store,
    identity,
    activation,
    input: [],
    resumed: undefined,
    messageCount: 0,
    latestAt: 0,
    clock: { now: () => 1 },
  });
  const state = new StateStore(SILENT);
  state.register([runLifecycle, toolCallStates]);
  state.commit(command().update(runLifecycle, { type: "start", runId: identity.runId, at: 0 }));
  const transcript = new Transcript([]);
  const tally = new Tally({
    steps: 0,
    usage: { inputTokens: 0, outputTokens: 0, totalTokens: 0 },
    usageByModel: [],
    answerId: messageId("m1"),
  });
  const tell = () => {
    throw new Error("a listener broke");
  };
  const writer = new RunWriter({ landing, identity, state, transcript, tally, ledger: undefined, tell });
  const call = { id: toolCallId("c"), name: "pay", input: {}, messageId: messageId("m1"), status: "suspended", updatedAt: 0 } as const;
  const suspension = { id: ticketId("tk"), action: "approve" };
  state.commit(command().update(toolCallStates, { type: "set", call: { ...call, resumeMode: "replay-tool-call", suspension } }));
  const [ticket] = openTickets({ state, identity });
  writer.announce({ type: "ticket-open", ticket: ticket ?? never() });
  transcript.append({ id: messageId("m1"), role: "user", content: [{ type: "text", text: "go" }] });
  await expect(writer.write()).rejects.toThrow("a listener broke");
  await writer.write();
  expect(
    commits.map(({ messageDelta, events = [] }) => [messageDelta?.messages.length ?? 0, events.map(({ draft }) => draft.kind)]),
  ).toEqual([
    [1, ["message-committed", "ticket-open"]],
    [0, []],
  ]);
});

test("the record of a run that is over has the state of its plugins, and nothing of ours that the record says anyway", async () => {
  const score = defineState("app.score", { schema: z.number(), initial: () => 0, apply: (_value, update: number) => update });
  const add = defineTool({
    id: "add",
    description: "d",
    input: z.object({}),
    state: [score],
    execute: () => reply("7", { command: command().update(score, 7) }),
  });
  const states: (readonly [string | undefined, readonly string[]])[] = [];
  await using store = memoryStore();
  const seen = watched(store, { after: ({ run }) => states.push([run?.status, Object.keys(run?.state?.extensions ?? {})]) });
  await using runtime = open(seen, [toolCalls([{ name: "add", input: {} }]), text("done")], { tools: [add] });
  await runtime.run(GO);
  expect(states.some(([status, keys]) => status === "running" && keys.includes(runLifecycle.name))).toBe(true);
  expect(states.at(-1)).toEqual(["done", ["app.score"]]);
});
