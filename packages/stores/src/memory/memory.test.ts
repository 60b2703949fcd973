import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { messageId, NO_USAGE, type RunProjection, runId, type ThreadCommit, threadId, toolCallId } from "@awaken/contract";
import { describe, expect, test } from "vitest";
import { storeConformance } from "../conformance/index.ts";
import { memoryStore } from "./index.ts";

storeConformance("memory", (clock) => memoryStore({ clock }));

const T = threadId("t");
const R = runId("r");
const run: RunProjection = {
  ...{ schemaVersion: 1, status: "created", runId: R, threadId: T, agentId: "a", createdAt: 1, updatedAt: 1, steps: 0 },
  activation: {
    intent: { type: "new-intent" },
    options: { frontendTools: [] },
    trace: { origin: "user", runMode: "foreground", adapter: "internal" },
    seededDecisions: [],
  },
  input: { triggerMessageIds: [], selectedMessageIds: [] },
  usage: NO_USAGE,
  decided: [],
};
const say = (count: number): ThreadCommit => ({
  threadId: T,
  runId: R,
  run,
  messageDelta: {
    messages: [{ id: messageId(`m${count}`), role: "user", content: [{ type: "text", text: "hi" }] }],
    expectedMessageCount: count,
  },
});

describe("memory", () => {
  test("needs nothing of Node, so that it runs in a browser", () => {
    const sources = readdirSync(import.meta.dirname).filter((file) => !file.endsWith(".test.ts"));
    expect(sources.length).toBeGreaterThan(15);
    for (const file of sources) {
      const text = readFileSync(join(import.meta.dirname, file), "utf8");
      expect(text, file).not.toMatch(/from "node:/);
    }
  });

  test("takes ids and times from where it is told", async () => {
    let count = 0;
    const store = memoryStore({ clock: () => 42, ids: () => `id-${++count}` });
    const [event] = await store.events.append([
      { draft: { schemaVersion: 1, threadId: T, kind: "k", payload: {}, visibility: "public", origin: "o" } },
    ]);
    expect(event).toMatchObject({ eventId: "id-11-1", cursors: { thread: "id-11-1" }, createdAt: 42 });
  });

  test("what a caller does later to what it gave, or to what it got, does not reach the store", async () => {
    const store = memoryStore();
    const payload = { tags: ["first"] };
    const result: { data: string[] } = { data: ["sent"] };
    const claim = { idempotencyKey: "k", attempt: 1, messageId: messageId("m"), toolCallId: toolCallId("c"), toolName: "t", step: 1 };
    const input = { to: "ana" };
    const given = await store.commit({
      ...say(0),
      events: [{ draft: { schemaVersion: 1, threadId: T, kind: "k", payload, visibility: "public", origin: "o" } }],
      ledger: {
        claims: [{ ...claim, input }],
        outcomes: [{ idempotencyKey: "k", attempt: 1, result: { type: "success", data: result.data } }],
      },
    });
    payload.tags.push("second");
    result.data.push("lost");
    input.to = "eve";
    expect(given.events).toMatchObject([{ payload: { tags: ["first"] } }]);
    expect(() => Object.assign(given.events[0]?.payload ?? {}, { tags: [] })).toThrow(TypeError);
    expect((await store.events.list({ type: "thread", threadId: T }, {})).items).toEqual(given.events);
    expect(await store.ledger.load("k")).toMatchObject({ input: { to: "ana" }, result: { data: ["sent"] } });
  });

  test("a call that is made while a transaction runs keeps its place in the line", async () => {
    const store = memoryStore();
    const order: string[] = [];
    const note = (name: string) => () => order.push(name);
    const work = [
      store.transaction(() => new Promise((resolve) => setTimeout(resolve, 5))).then(note("first transaction")),
      store.commit(say(0)).then(note("commit")),
      store.transaction(async ({ commit }) => commit(say(1))).then(note("second transaction")),
      store.commit(say(2)).then(note("last commit")),
      store.messages.count(T).then((count) => order.push(`count ${count}`)),
    ];
    await Promise.all(work);
    expect(order.filter((name) => !name.startsWith("first"))).toEqual(["commit", "second transaction", "last commit", "count 3"]);
  });

  test("work that throws at once rolls back and lets the next one in", async () => {
    const store = memoryStore();
    const thrown = store.transaction(() => {
      throw new Error("at once");
    });
    await expect(thrown).rejects.toThrow("at once");
    expect(await store.commit(say(0))).toMatchObject({ messageCount: 1 });
  });

  test("the estimate of bytes grows by about what is kept: a byte for a character", async () => {
    const store = memoryStore();
    const bytesWith = async (count: number, text: string) => {
      const message = { id: messageId(`m${count}`), role: "user", content: [{ type: "text", text }] } as const;
      await store.commit({ threadId: T, runId: R, messageDelta: { messages: [message], expectedMessageCount: count } });
      return (await store.stats()).bytes;
    };
    const before = await bytesWith(0, "");
    const after = await bytesWith(1, "x".repeat(100_000));
    expect(after - before).toBeGreaterThan(100_000);
    expect(after - before).toBeLessThan(101_000);
  });

  test("a thread of another run of the same store costs a commit nothing: rows of 10,000 threads are not looked at", async () => {
    const store = memoryStore();
    const commit = async (index: number) => store.commit({ threadId: threadId(`t${index}`), runId: R });
    for (let index = 0; index < 10_000; index++) await commit(index);
    const started = performance.now();
    for (let count = 0; count < 1_000; count++) await store.commit(say(count));
    // Looking at each thread would take minutes.
    expect(performance.now() - started).toBeLessThan(2_000);
    expect((await store.threads.loadCheckpoint(T))?.messageCount).toBe(1_000);
  });
});
