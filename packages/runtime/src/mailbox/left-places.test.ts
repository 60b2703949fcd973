import { type AgentEvent, AwakenError } from "@awaken/contract";
import type { EventStore, QueueStore } from "@awaken/contract/store";
import { memoryStore } from "@awaken/stores/memory";
import { describe, expect, test } from "vitest";
import * as z from "zod";
import type { RuntimeInit } from "../create-runtime.ts";
import { fakeClock } from "../testing/fake-clock.ts";
import { stall, text, toolCall } from "../testing/script.ts";
import type { ScriptStep } from "../testing/scripted.ts";
import { defineTool } from "../tool/define-tool.ts";
import { open as openScripted } from "./open.test-support.ts";
import { STORES } from "./stores.test-support.ts";

// What a follower tells when the row that it waits for is gone, is not known, or never comes: what is on record, and nothing else.

const add = defineTool({ id: "add", description: "", input: z.object({}), pure: true, execute: () => "2" });

const open = (store: QueueStore, turns: readonly ScriptStep[], init: Partial<RuntimeInit> = {}) =>
  openScripted(store, turns, { tools: [add], limits: { storeMs: 3_600_000 }, ...init });

async function read(events: AsyncIterable<AgentEvent>): Promise<readonly AgentEvent[]> {
  const told: AgentEvent[] = [];
  for await (const event of events) told.push(event);
  return told;
}

const withEvents = (store: QueueStore, own: Partial<EventStore>): QueueStore => ({
  ...store,
  events: new Proxy(store.events, { get: (port, key) => Reflect.get(own, key) ?? Reflect.get(port, key) }),
});

/** The log is not read before this is resolved. */
function lateLog(store: QueueStore) {
  const readable = Promise.withResolvers<void>();
  const list: EventStore["list"] = async (...given) => {
    await readable.promise;
    return store.events.list(...given);
  };
  return { store: withEvents(store, { list }), readable };
}

const starts = (events: readonly AgentEvent[]) => events.flatMap((event) => (event.type === "run-start" ? [event.resumed] : []));

describe.each(STORES)("a follower, on %s", (_, make) => {
  test("server-and-durability 63: tells what is left of the log when retention took all that its reader had heard", async () => {
    let now = 1_000;
    await using inner = make(() => now);
    const { store, readable } = lateLog(inner);
    const clock = fakeClock(now);
    await using first = open(store, [toolCall("add", {}), stall(text("Half ", "of ", "it"), 2)], { clock, yieldBefore: () => 6_000 });
    const run = first.stream({ thread: "t", input: "x" });
    const events = run[Symbol.asyncIterator]();
    const heard: AgentEvent[] = [];
    while (heard.filter(({ type }) => type === "text-delta").length < 2) heard.push((await events.next()).value ?? expect.fail());
    await clock.advance(5_000);
    await expect.poll(async () => (await inner.dispatches.list(run.threadId, {})).map(({ status }) => status)).toEqual(["queued"]);
    now = 100_000_000;
    await using second = open(inner, [toolCall("add", {}), text("done")], { clock: fakeClock(now) });
    expect(await second.wait(run.id)).toMatchObject({ status: "done", text: "done" });
    expect((await inner.sweep({ eventsMs: 50_000_000 })).events).toBeGreaterThan(0);
    readable.resolve();
    const rest = await read({ [Symbol.asyncIterator]: () => events });
    expect(await run.result).toMatchObject({ status: "done", text: "done" });
    expect(rest[0]).toMatchObject({ type: "stream-reset" });
    expect(starts(rest)).toEqual([true]);
    expect(rest.flatMap((event) => (event.type === "step-start" ? [event.step] : []))).toEqual([2, 3]);
    expect(rest.at(-1)).toMatchObject({ type: "run-end", result: { status: "done" } });
  });

  test("tells what others wrote when neither the answer to a commit nor the end of the log could be read", async () => {
    await using inner = make();
    let isLost = false;
    let asked = 0;
    const { store: late, readable } = lateLog(inner);
    const loadHead: EventStore["loadHead"] = async (scope) => {
      asked += 1;
      if (asked === 1) throw new AwakenError("storage_io", "the database is starting up");
      return inner.events.loadHead(scope);
    };
    const store: QueueStore = {
      ...withEvents(late, { loadHead }),
      commit: async (given) => {
        if (isLost && given.run?.steps === 2 && asked === 1) throw new AwakenError("storage_io", "the database is starting up");
        const result = await inner.commit(given);
        if (given.run?.status === "done") readable.resolve();
        if (isLost || given.run?.steps !== 1) return result;
        isLost = true;
        throw new AwakenError("commit_unknown", "the connection broke");
      },
    };
    await using runtime = open(store, [toolCall("add", {}), toolCall("add", {}), toolCall("add", {}), text("done")]);
    const run = runtime.stream({ thread: "t", input: "x" });
    const told = await read(run);
    expect(await run.result).toMatchObject({ status: "done", text: "done" });
    expect(asked).toBe(2);
    expect(starts(told)).toEqual([false, true]);
    expect(told.at(-1)).toMatchObject({ type: "run-end", result: { status: "done" } });
  });

  test.each(["run", "thread"])("of a new run by the id of its %s is told nothing of one that never comes to be on record", async (by) => {
    await using inner = make();
    const asked = Promise.withResolvers<void>();
    const refused = Promise.withResolvers<void>();
    const store: QueueStore = {
      ...inner,
      commit: async (given) => {
        if (given.threadId !== "t") return inner.commit(given);
        asked.resolve();
        await refused.promise;
        throw new AwakenError("storage_validation", "no");
      },
    };
    await using runtime = open(store, [text("x"), text("y")]);
    const run = runtime.stream({ thread: "t", input: "x" });
    await asked.promise;
    const leaving = new AbortController();
    const caughtUp = Promise.withResolvers<void>();
    const following = read(runtime.attach(by === "run" ? run.id : "t", { signal: leaving.signal, onCaughtUp: caughtUp.resolve }));
    await caughtUp.promise;
    refused.resolve();
    expect(await run.result).toMatchObject({ status: "failed", error: { code: "storage_validation" } });
    // A thread is followed until the reader leaves.
    if (by === "thread") leaving.abort();
    expect(await following).toEqual([]);
  });
});

test("a store that makes events only for those who ask makes none for a run that nobody follows", async () => {
  await using inner = memoryStore();
  let asked = 0;
  const store: QueueStore = {
    ...inner,
    commit: async (given) => {
      const result = await inner.commit(given);
      return new Proxy(result, {
        get(target, key) {
          if (key === "events") asked += 1;
          const value: unknown = Reflect.get(target, key, target);
          return value;
        },
      });
    },
  };
  await using runtime = open(store, [toolCall("add", {}), text("done")]);
  expect(await runtime.run({ thread: "t", input: "x" })).toMatchObject({ status: "done", steps: 2 });
  expect(asked).toBe(0);
});
