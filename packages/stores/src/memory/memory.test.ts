import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { dispatchId, messageId, NO_USAGE, type RunProjection, runId, threadId, toolCallId } from "@awaken/contract";
import type { EventCursor, StoredEvent, ThreadCommit } from "@awaken/contract/store";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { queueConformance, storeConformance } from "../conformance/index.ts";
import { memoryStore } from "./index.ts";

storeConformance("memory", (clock) => memoryStore({ clock }), { reopen: "never" });
queueConformance("memory", (clock) => memoryStore({ clock }), { reopen: "never" });

const T = threadId("t");
const R = runId("r");
const run: RunProjection = {
  ...{ schemaVersion: 2, status: "created", runId: R, threadId: T, agentId: "a", createdAt: 1, updatedAt: 1, steps: 0 },
  activation: {
    intent: { type: "new-intent" },
    options: { frontendTools: [] },
    trace: { origin: "user", runMode: "foreground", adapter: "internal" },
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

const written = (kind: string): ThreadCommit => ({
  ...say(0),
  events: [{ draft: { schemaVersion: 1, threadId: T, runId: R, kind, payload: {}, visibility: "public", origin: "o" } }],
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

  test("what is asked first is done first, also when its part has to be loaded", async () => {
    const store = memoryStore();
    await store.commit(say(0));
    const asked = [store.threads.delete(T, "detach"), store.commit(say(0)), store.sweep({}), store.stats(), store.close()];
    const ends = await Promise.allSettled(asked);
    expect(ends.map(({ status }) => status)).toEqual(Array(5).fill("fulfilled"));
    expect(ends[3]).toMatchObject({ value: { threads: 1 } });
    await expect(store.stats()).rejects.toMatchObject({ code: "storage_io" });
  });

  test("what is asked of the queues of all tenants is done before the store closes, and in its place", async () => {
    const store = memoryStore();
    const dispatch = { dispatchId: dispatchId("d"), threadId: T, runId: R };
    const due = store.queue.listDue();
    const queued = store.dispatches.enqueue(dispatch);
    const asked = [due, queued, store.queue.listDue(), store.queue.reclaimExpired(10), store.queue.nextDueInMs(), store.close()];
    const ends = await Promise.allSettled(asked);
    expect(ends.map(({ status }) => status)).toEqual(Array(6).fill("fulfilled"));
    expect(ends[0]).toMatchObject({ value: [] });
    expect(ends[2]).toMatchObject({ value: [{ threadId: T }] });
    await expect(store.queue.listDue()).rejects.toMatchObject({ code: "storage_io" });
  });

  test("who follows a log hears of it, also when what was first written there is taken back", async () => {
    const store = memoryStore();
    let heard = 0;
    const lost = store.transaction(async (ports) => {
      await ports.commit(written("lost"));
      for (const scope of [{ type: "thread", threadId: T } as const, { type: "run", runId: R } as const]) {
        store.live?.follow(scope, () => heard++);
      }
      throw new Error("lost");
    });
    await expect(lost).rejects.toThrow("lost");
    expect(heard).toBe(0);
    await store.commit(written("kept"));
    expect(heard).toBe(2);
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

  test("an object that comes again, changed by its owner, changes nothing that was stored", async () => {
    const store = memoryStore();
    const metadata = { runId: R, stepIndex: 0 };
    const part = { type: "text" as const, text: "first" };
    const trace = { origin: "user" as const, runMode: "foreground" as const, adapter: "internal" as const, correlationId: "one" };
    const changing: RunProjection = { ...run, activation: Object.freeze({ ...run.activation, trace }) };
    const commit = (runName: string, count: number): ThreadCommit => ({
      threadId: T,
      runId: runId(runName),
      run: { ...changing, runId: runId(runName) },
      messageDelta: { messages: [{ id: messageId(`m${count}`), role: "user", metadata, content: [part] }], expectedMessageCount: count },
    });
    await store.commit(commit("r1", 0));
    await store.commit(commit("r2", 1));
    metadata.stepIndex = 1;
    part.text = "second";
    trace.correlationId = "two";
    await store.commit(commit("r3", 2));
    const { items } = await store.messages.list(T, {});
    expect(items.map(({ message }) => [message.metadata?.stepIndex, message.content])).toEqual([
      [0, [{ type: "text", text: "first" }]],
      [0, [{ type: "text", text: "first" }]],
      [1, [{ type: "text", text: "second" }]],
    ]);
    const traceOf = async (name: string) => (await store.runs.load(runId(name)))?.activation.trace.correlationId;
    expect([await traceOf("r1"), await traceOf("r2"), await traceOf("r3")]).toEqual(["one", "one", "two"]);
  });

  test("a message is found by its id and never stored twice, whatever order the ids have", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.array(fc.nat(30), { maxLength: 4 }), { maxLength: 20 }), async (deltas) => {
        const store = memoryStore();
        const known: number[] = [];
        for (const [index, delta] of deltas.entries()) {
          const messages = delta.map((name) => ({ id: messageId(String(name).padStart(2, "0")), role: "user" as const, content: [] }));
          const commit = { threadId: T, runId: R, messageDelta: { messages, expectedMessageCount: known.length } };
          const isNew = new Set([...known, ...delta]).size === known.length + delta.length;
          const isLost = index % 3 === 2;
          const written = store.transaction(async (ports) => {
            await ports.commit(commit);
            await ports.threads.loadHead(T);
            if (isLost) throw new Error("lost");
          });
          if (isNew && !isLost) await written;
          else await expect(written).rejects.toThrow(isNew ? "lost" : /twice|already/);
          if (isNew && !isLost) known.push(...delta);
          const ids = known.map((name) => String(name).padStart(2, "0"));
          const loaded = await store.messages.load(
            T,
            Array.from({ length: 31 }, (_, name) => messageId(String(name).padStart(2, "0"))),
          );
          expect(loaded.map(({ message }) => message.id)).toEqual(ids);
          expect(loaded.map(({ seq }) => seq)).toEqual(ids.map((_, at) => at + 1));
          expect(((await store.threads.loadHead(T))?.messages ?? []).map(({ message }) => message.id)).toEqual(ids);
        }
      }),
      { numRuns: 60 },
    );
  });

  test("a row of the log has the time of its commit", async () => {
    let now = 1_700_000_000_000;
    const store = memoryStore({ clock: () => now });
    for (const [count, at] of [0, 1, 40_000_000_000, 5].entries()) {
      now = 1_700_000_000_000 + at;
      await store.commit(say(count));
    }
    expect((await store.messages.list(T, {})).items.map(({ createdAt }) => createdAt - 1_700_000_000_000)).toEqual([
      0, 1, 40_000_000_000, 5,
    ]);
  });

  test("events are read one by one, however they were appended", async () => {
    const visibilities = ["public", "internal", "audit"] as const;
    const append = fc.record({
      run: fc.constantFrom(undefined, "r1", "r2"),
      origin: fc.constantFrom("a", "b"),
      visibility: fc.constantFrom(...visibilities),
      key: fc.constantFrom(undefined, undefined, "k"),
    });
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.array(append, { maxLength: 5 }), { maxLength: 8 }),
        fc.integer({ min: 1, max: 4 }),
        async (batches, limit) => {
          const store = memoryStore();
          const scope = { type: "thread", threadId: T } as const;
          const written: (string | undefined)[] = [];
          let count = 0;
          for (const batch of batches) {
            const appends = batch.map(({ run: name, origin, visibility, key }) => {
              const kind = `e${count++}`;
              written.push(`${kind} ${origin} ${visibility} ${name}`);
              const draft = { schemaVersion: 1 as const, threadId: T, kind, payload: { kind }, visibility, origin };
              return {
                draft: name === undefined ? draft : { ...draft, runId: runId(name), causationId: name },
                ...(key === undefined ? {} : { idempotency: { writerId: "w", key: `${key}${count}` } }),
              };
            });
            const given = await store.events.append(appends);
            expect(given.map(({ kind }) => kind)).toEqual(appends.map(({ draft }) => draft.kind));
            if (appends[0] !== undefined && "idempotency" in appends[0])
              expect(await store.events.append(appends.slice(0, 1))).toEqual(given.slice(0, 1));
          }
          const read: StoredEvent[] = [];
          for (let after: EventCursor | undefined, isOver = false; !isOver; isOver = after === undefined) {
            const page = await store.events.list(scope, { limit, ...(after === undefined ? {} : { after }) });
            expect(page.items.length).toBeLessThanOrEqual(limit);
            read.push(...page.items);
            after = page.next;
          }
          expect(read.map(({ kind, origin, visibility, runId: of }) => `${kind} ${origin} ${visibility} ${of}`)).toEqual(written);
          expect(new Set(read.map(({ eventId }) => eventId)).size).toBe(read.length);
          for (const visibility of visibilities) {
            const { items } = await store.events.list(scope, { visibilities: [visibility] });
            expect(items).toEqual(read.filter((event) => event.visibility === visibility));
          }
          for (const name of ["r1", "r2"]) {
            const { items } = await store.events.list({ type: "run", runId: runId(name) }, {});
            expect(items).toEqual(read.filter((event) => event.runId === name));
          }
        },
      ),
      { numRuns: 60 },
    );
  });

  test("a run's events are one batch: what is taken back or past its time leaves the others where they were, in both logs", async () => {
    let now = 1_000;
    const store = memoryStore({ clock: () => now });
    const append = (events: Pick<typeof store.events, "append">, kind: string) =>
      events.append([{ draft: { schemaVersion: 1, threadId: T, runId: R, kind, payload: { kind }, visibility: "public", origin: "o" } }]);
    const [first] = await append(store.events, "first");
    now = 2_000;
    const failing = store.transaction(async ({ events }) => {
      await append(events, "never");
      throw new Error("taken back");
    });
    await expect(failing).rejects.toThrow("taken back");
    const [second] = await append(store.events, "second");
    const held = await append(store.events, "third");
    const scopes = [
      { type: "thread", threadId: T },
      { type: "run", runId: R },
    ] as const;
    expect(await store.sweep({ eventsMs: 500 })).toMatchObject({ events: 1 });
    const [last] = await append(store.events, "last");
    for (const scope of scopes) {
      const { items } = await store.events.list(scope, {});
      expect(items).toEqual([second, ...held, last]);
      expect(items.map(({ payload, createdAt }) => [payload, createdAt])).toEqual([
        [{ kind: "second" }, 2_000],
        [{ kind: "third" }, 2_000],
        [{ kind: "last" }, 2_000],
      ]);
      const after = first?.cursors[scope.type];
      await expect(store.events.list(scope, after === undefined ? {} : { after })).rejects.toMatchObject({ code: "cursor_expired" });
    }
    now = 9_000;
    expect(await store.sweep({ eventsMs: 1 })).toMatchObject({ events: 3 });
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

  test.each([undefined, null, "a commit", {}])("a commit that is none is refused by its promise: %j", async (given) => {
    const store = memoryStore();
    const answer: unknown = Reflect.apply(store.commit, store, [given]);
    expect(answer).toBeInstanceOf(Promise);
    await expect(answer).rejects.toBeInstanceOf(Error);
    await store.close();
  });
});
