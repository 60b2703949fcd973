import { type AgentEvent, type RunId, threadId } from "@awaken/contract";
import type { QueueStore } from "@awaken/contract/store";
import { ask, defineTool, type Runtime } from "@awaken/runtime";
import { type ScriptedTurn, text, toolCall, toolCalls } from "@awaken/runtime/testing";
import { afterAll, describe, expect, test, vi } from "vitest";
import * as z from "zod";
import { activitiesOf, checkFollowed } from "./support/judge.ts";
import { ENGINES, openShared, stopServer } from "./support/nodes.ts";
import { factsOf, Reader, readAll } from "./support/reader.ts";
import { openNode, speaker } from "./support/speaker.ts";

afterAll(stopServer);

/** Followers read the log when they are let: what is put there meanwhile is one page for them. */
class HeldLog {
  readonly store: QueueStore;
  #free: PromiseWithResolvers<void> | undefined;

  constructor(store: QueueStore) {
    const list: QueueStore["events"]["list"] = async (...given) => {
      await this.#free?.promise;
      return store.events.list(...given);
    };
    this.store = { ...store, events: { ...store.events, list } };
  }

  hold(): void {
    this.#free = Promise.withResolvers<void>();
  }

  letGo(): void {
    this.#free?.resolve();
    this.#free = undefined;
  }
}

const EMPTY = z.object({});

const painting = (id: string, isAsking: boolean) =>
  defineTool({
    id,
    description: "Paints",
    input: EMPTY,
    idempotent: true,
    ...(isAsking ? { approve: () => ask("May I?") } : undefined),
    async execute(_, { progress, output }) {
      progress({ progress: 0.5 });
      await output("half ");
      progress({ progress: 1 });
      await output("whole");
      return "painted";
    },
  });

const stamp = defineTool({ id: "stamp", description: "Stamps", input: EMPTY, approve: () => ask("Stamp it?"), execute: () => "stamped" });

const sendOut = defineTool({
  id: "send_out",
  description: "Sends others out",
  input: EMPTY,
  execute: async (_, { tasks }) => {
    await tasks.spawn({ name: "count" }, async () => 42);
    await tasks.spawnAgent({ agent: "clerk", name: "finder", input: "find it" });
    return "sent out";
  },
});

const CALLS = [
  { id: "out", name: "send_out", input: {} },
  { id: "below", name: "agent_run_helper", input: { prompt: "help" } },
  { id: "paint", name: "paint", input: {} },
];

/** It sends others out, has a helper paint, and paints when it may; then it says how much of that is back. */
const house = (store: QueueStore, workers: boolean): Runtime =>
  openNode(store, {
    tools: [painting("paint", true), painting("sketch", false), stamp, sendOut],
    agents: {
      assistant: { model: "fast", tools: ["paint", "send_out"], delegates: ["helper"] },
      helper: { model: "helper", tools: ["sketch"] },
      clerk: { model: "clerk", tools: ["stamp"] },
    },
    models: {
      fast: { provider: "house", model: "m" },
      helper: { provider: "helper", model: "m" },
      clerk: { provider: "clerk", model: "m" },
    },
    providers: {
      house: speaker(({ messages }): ScriptedTurn => {
        const results = messages.filter(({ role }) => role === "tool").length;
        const back = new Set(messages.flatMap(({ metadata }) => (metadata?.task?.kind === "completed" ? metadata.task.taskId : [])));
        return results === 0 ? toolCalls(CALLS) : text("back: ", `${back.size}`);
      }),
      helper: speaker(({ messages }) => (messages.at(-1)?.role === "tool" ? text("drawn") : toolCall("sketch", {}, { id: "sketch" }))),
      clerk: speaker(({ messages }) => (messages.at(-1)?.role === "tool" ? text("found") : toolCall("stamp", {}, { id: "stamp" }))),
    },
    workers,
  });

const isDone = (event: AgentEvent): boolean => event.type === "run-end" && event.result.status === "done";

const saidBy = (id: string, events: readonly AgentEvent[]): string =>
  events.flatMap((event) => (event.type === "tool-call-stream-delta" && event.toolCallId === id ? [event.delta] : [])).join("");

const ALL = { "task:bg_0": "completed", "task:bg_1": "completed", sketch: 1, paint: 1 };

/** The run waits, and these calls of its family do. */
const parked = (store: QueueStore, id: RunId, asking: string) =>
  vi.waitFor(
    async () => {
      expect((await store.runs.load(id))?.status).toBe("waiting");
      const found = (await store.runs.listOpenTickets(id)).find(({ toolCallId }) => toolCallId === asking);
      return found?.id ?? expect.fail(`nothing asks for ${asking}`);
    },
    { timeout: 60_000, interval: 10 },
  );

const over = (store: QueueStore, id: RunId) =>
  vi.waitFor(async () => expect((await store.runs.load(id))?.status).toBe("done"), { timeout: 60_000, interval: 10 });

describe.each(ENGINES)("what only listeners hear, on %s", (engine) => {
  test.each([
    ["as one page", "held"],
    ["as they come", "free"],
  ])("whoever follows here is told how each activity ended, and where it belongs, with commits that are read %s", async (_how, how) => {
    await using shared = await openShared(engine);
    const [store, peer] = shared.stores;
    const log = new HeldLog(store);
    await using here = house(log.store, true);
    await using there = house(peer, false);
    await store.threads.create({ id: threadId("t") });
    const caughtUp = Promise.withResolvers<void>();
    const follower = new Reader(here.attach("t", { onCaughtUp: caughtUp.resolve }));
    const other = new Reader(there.attach("t"));
    await caughtUp.promise;

    if (how === "held") log.hold();
    const { runId } = await here.start({ agent: "assistant", thread: "t", input: "go" });
    await here.decide(await parked(store, runId, "paint"), { action: "approve" });
    const last = await parked(store, runId, "stamp");
    log.letGo();
    await follower.until((event) => event.type === "text-delta");
    if (how === "held") log.hold();
    // That of the clerk, who works in the background: a worker goes on with the run when he is done.
    await here.decide(last, { action: "approve" });
    await over(store, runId);
    log.letGo();
    for (const each of [follower, other]) await each.until(isDone);
    const events = await follower.leave();
    checkFollowed(events);
    expect(activitiesOf(events)).toEqual(ALL);
    expect(saidBy("paint", events)).toBe("half whole");
    // What was said before an answer is told before it.
    const painted = events.findLastIndex((event) => event.type === "activity-snapshot" && event.messageId === "paint");
    expect(painted).toBeLessThan(events.findIndex(({ type }) => type === "text-delta"));
    await other.leave();
    for (const each of [events, other.events]) expect(factsOf(each)).toEqual(factsOf(await readAll(there, "t")));
  });

  test("a decision that is taken while other calls of the step are at work is told behind its ticket, also when both are read at once", async () => {
    await using shared = await openShared(engine);
    const [store] = shared.stores;
    const { promise, resolve: goOn } = Promise.withResolvers<void>();
    const slow = defineTool({ id: "slow", description: "Takes long", input: EMPTY, idempotent: true, execute: () => promise });
    const calls = ["stamp", "slow"].map((name) => ({ id: name, name, input: {} }));
    const house = speaker(({ messages }) => (messages.some(({ role }) => role === "tool") ? text("Done.") : toolCalls(calls)));
    await using here = openNode(store, { tools: [stamp, slow], providers: { house }, workers: false });
    const run = here.stream({ agent: "assistant", thread: "t", input: "go" });
    const ticket = await vi.waitFor(async () => (await store.runs.listOpenTickets(run.id))[0] ?? expect.fail("nothing asks"), {
      timeout: 60_000,
      interval: 10,
    });
    await here.decide(ticket.id, { action: "approve" });
    goOn();
    await vi.waitFor(async () => expect((await store.runs.load(run.id))?.status).toBe("done"), { timeout: 60_000, interval: 10 });
    const told = (await readAll(here, "t")).map(({ type }) => type);
    expect(told).toContain("decision-taken");
    expect(told.indexOf("ticket-open")).toBeLessThan(told.indexOf("decision-taken"));
    expect(told.indexOf("ticket-open")).toBeGreaterThan(0);
  });

  test("whoever follows here hears what a call says once, also while it is told to another node", async () => {
    await using shared = await openShared(engine);
    const { promise, resolve: goOn } = Promise.withResolvers<void>();
    const chatty = defineTool({
      id: "chatty",
      description: "Says a word",
      input: EMPTY,
      idempotent: true,
      async execute(_, { progress }) {
        progress({ progress: 0.5 });
        await promise;
        return "done";
      },
    });
    const house = speaker(({ messages }) => (messages.some(({ role }) => role === "tool") ? text("Done.") : toolCall("chatty", {})));
    const init = { tools: [chatty], providers: { house }, workers: false };
    await using here = openNode(shared.stores[0], init);
    await using there = openNode(shared.stores[1], init);
    const run = here.stream({ agent: "assistant", thread: "t", input: "go" });
    const follower = new Reader(here.attach(run.id));
    await follower.until(({ type }) => type === "activity-snapshot");
    const other = new Reader(there.attach(run.id));
    // Over SQLite other processes hear of commits alone; here it is one process.
    await other.until(({ type }) => type === "activity-snapshot");
    goOn();
    for (const each of [follower, other]) await each.ended;
    expect(follower.events.filter(({ type }) => type === "activity-snapshot")).toHaveLength(1);
  });
});
