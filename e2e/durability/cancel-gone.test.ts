import { messageText, threadId, ticketId } from "@awaken/contract";
import type { Store } from "@awaken/contract/store";
import { ask, command, createRuntime, definePlugin, defineState, defineTool, type RuntimeInit, wait } from "@awaken/runtime";
import { scripted, soleNode, text, toolCalls } from "@awaken/runtime/testing";
import { memoryStore } from "@awaken/stores/memory";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import * as z from "zod";
import { freshSchema, type Server, startServer, tempFolder } from "./support/databases.ts";
import { openStore } from "./support/place.ts";

const SILENT = { warn() {}, error() {} };
const input = z.object({});

const mood = (schema: z.ZodType<string>) =>
  defineState("app.mood", { scope: "thread", schema, initial: () => "calm", apply: (_value, next: string) => next });

const keeper = (schema: z.ZodType<string> = z.string(), told: string[] = []) =>
  definePlugin({
    id: "keeper",
    register(r) {
      const key = mood(schema);
      r.state(key);
      r.hook("runStart", () => command().update(key, "happy"));
      r.hook("runEnd", ({ termination }) => {
        told.push(termination.type);
      });
    },
  });

const TOOLS = [
  defineTool({ id: "asks", description: "", input, approve: () => ask("Pay?"), execute: () => "paid" }),
  defineTool({ id: "waits", description: "", input, execute: () => wait({ action: "confirm" }) }),
  defineTool({ id: "looks", description: "", input, execute: () => "seen" }),
];

function open(store: Store, init: Partial<RuntimeInit>) {
  return createRuntime({
    providers: { scripted: scripted([]) },
    models: { fast: { provider: "scripted", model: "m" } },
    agents: { helper: { model: "fast", plugins: ["keeper"] } },
    plugins: [keeper()],
    tools: TOOLS,
    checked: false,
    log: SILENT,
    store,
    node: soleNode(crypto.randomUUID()),
    workers: false,
    ...init,
  });
}

/** What another program, started later, does not have any more. */
const LOSSES: { readonly [what: string]: Partial<RuntimeInit> } = {
  "its agent": { agents: {} },
  "its agent as a local one": { agents: { helper: { remote: { a2a: "https://helper.example.com" } } } },
  "its plugin": { plugins: [], agents: { helper: { model: "fast" } } },
  "its model": { models: { other: { provider: "scripted", model: "m" } }, agents: { helper: { model: "other" } } },
  "its model and its provider": { agents: {}, models: {}, providers: {} },
  "its tools": { tools: [] },
  everything: { agents: {}, plugins: [], models: {}, providers: {}, tools: [] },
  "a plugin that registers": {
    plugins: [
      definePlugin({
        id: "keeper",
        register() {
          throw new Error("no licence");
        },
      }),
    ],
  },
  "a plugin that can be activated": {
    plugins: [
      definePlugin({
        id: "keeper",
        register() {},
        onActivate() {
          throw new Error("no licence");
        },
      }),
    ],
  },
  "a schema that takes its state": { plugins: [keeper(z.literal("angry"))] },
};

const calls = ["asks", "waits", "looks"].map((name) => ({ id: `call-${name}`, name, input: {} }));

async function leaveWaiting(store: Store, thread: string) {
  await using runtime = open(store, { providers: { scripted: scripted([toolCalls(calls)]) } });
  const waiting = await runtime.run({ agent: "helper", thread, input: "go" });
  if (waiting.status !== "waiting") throw new Error(`expected a run that waits, it is ${waiting.status}`);
  expect(waiting.tickets).toHaveLength(2);
  return waiting;
}

async function expectEnded(store: Store, { runId, threadId: thread, tickets }: Awaited<ReturnType<typeof leaveWaiting>>): Promise<void> {
  expect(await store.runs.load(runId)).toMatchObject({ status: "done", outcome: { termination: { type: "cancelled" } } });
  const checkpoint = await store.threads.loadHead(thread);
  expect(checkpoint?.openRun).toBeUndefined();
  const results = checkpoint?.messages.filter(({ message }) => message.role === "tool").map(({ message }) => messageText(message));
  expect(results).toEqual([expect.stringContaining("ended before"), expect.stringContaining("ended before"), "seen"]);
  expect(await store.ledger.list(runId, { statuses: ["claimed", "suspended"] })).toEqual([]);
  for (const { id } of tickets) expect((await store.runs.listByTicket(ticketId(id))).every((run) => run.status === "done")).toBe(true);
}

async function attack(store: Store): Promise<void> {
  let count = 0;
  for (const [what, init] of Object.entries(LOSSES)) {
    for (const isByRun of [true, false]) {
      const waiting = await leaveWaiting(store, `t${count++}`);
      {
        await using runtime = open(store, init);
        const id = isByRun ? waiting.runId : waiting.threadId;
        expect(await runtime.cancelAndWait(id), what).toBe(true);
        await expectEnded(store, waiting);
        expect(await runtime.cancel(id), what).toBe(false);
        await expect(runtime.decide(waiting.tickets[0]?.id ?? "", { action: "approve" }), what).rejects.toMatchObject({
          code: expect.stringMatching(/^ticket_not_(open|found)$/),
        });
      }
      // The thread goes on, with what its plugin kept.
      await using later = open(store, { providers: { scripted: scripted([text("hello again")]) } });
      expect(await later.run({ agent: "helper", thread: waiting.threadId, input: "and now?" })).toMatchObject({ text: "hello again" });
      const state = (await store.threads.loadHead(threadId(waiting.threadId)))?.state?.extensions;
      expect(state?.["app.mood"], what).toBe("happy");
    }
  }
}

describe("core-execution 87: a waiting run whose agent, plugin, model or state is gone is cancelled from its records", () => {
  let server: Server;
  beforeAll(async () => {
    server = await startServer();
  });
  afterAll(() => server[Symbol.asyncDispose]());

  test("core-execution 87: in memory", () => attack(memoryStore()));

  test("core-execution 87: on SQLite", async () => {
    using folder = tempFolder();
    await using store = await openStore({ type: "sqlite", file: `${folder.path}/a.db` });
    await attack(store);
  });

  test("core-execution 87: on PostgreSQL", async () => {
    await using schema = freshSchema(server.url);
    await using store = await openStore({ type: "postgres", url: server.url, schema: schema.name });
    await attack(store);
  });

  test("core-execution 87: hooks of the end run when the agent can be had, and are told that the run is cancelled", async () => {
    const store = memoryStore();
    const waiting = await leaveWaiting(store, "t");
    const told: string[] = [];
    await using runtime = open(store, { plugins: [keeper(z.string(), told)] });
    expect(await runtime.cancelAndWait("t")).toBe(true);
    await expectEnded(store, waiting);
    expect(told).toEqual(["cancelled"]);
  });

  test("core-execution 87: of many who cancel in two processes at once one ends it, and nobody is told a lie", async () => {
    using folder = tempFolder();
    const place = { type: "sqlite", file: `${folder.path}/a.db` } as const;
    await using store = await openStore(place);
    await using other = await openStore(place);
    const waiting = await leaveWaiting(store, "t");
    await using here = open(store, LOSSES["everything"] ?? {});
    await using there = open(other, LOSSES["its agent"] ?? {});
    const ended = await Promise.allSettled([here, there, here, there].map((runtime) => runtime.cancelAndWait("t")));
    for (const one of ended) if (one.status === "rejected") expect(one.reason).toMatchObject({ code: "thread_already_running" });
    expect(ended.some((one) => one.status === "fulfilled" && one.value)).toBe(true);
    await expectEnded(store, waiting);
  });
});
