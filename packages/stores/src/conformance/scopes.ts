import { DEFAULT_SCOPE, dispatchId, messageId, type ScopeId, scopeId, ticketId, toolCallId } from "@awaken/contract";
import { userRecord } from "@awaken/contract/spec";
import { effectKey, hasQueue, profileOwner, type QueuePorts, type ScopedStore } from "@awaken/contract/store";
import { describe, expect } from "vitest";
import { append, checkpoint, claim, dispatch, event, ofQueue, R1, runs, state, T1, T2, takeNext, user, WORKER } from "./records.ts";
import { failure, type QueueTest, type StoreTest } from "./world.ts";

export function scopeConformance(it: StoreTest): void {
  describe("scopes", () => {
    names(it);
    isolation(it);
    independence(it);
  });
}

/** Names that widen a match, end a string or look like another name on some engine. */
const HOSTILE: readonly string[] = [
  "%",
  "_",
  "a%",
  "a_",
  "ab",
  "'",
  '"',
  "a'; drop table threads; --",
  "\\",
  "a\\",
  "😀",
  "A",
  "a",
  " a",
  "ä",
  "x".repeat(512),
];

function names(it: StoreTest): void {
  it("names are non-blank, at most 512 bytes and without control characters", async ({ store }) => {
    for (const bad of ["", " ", "\u0000", "a\u0000b", "a\nb", "\u007f", "\u0085", "x".repeat(513), "é".repeat(257)]) {
      expect(() => scopeId(bad)).toThrow(expect.objectContaining({ code: "invalid_id" }));
    }
    expect(store.scopeId).toBe(DEFAULT_SCOPE);
    for (const name of HOSTILE) expect(store.scoped(scopeId(name)).scopeId).toBe(name);
  });

  it("a handle is cheap, and two of one name are the same tenant", async ({ store }) => {
    const name = scopeId("tenant");
    for (let index = 0; index < 1_000; index++) store.scoped(scopeId(`t${index}`));
    await store.scoped(name).threads.create({ id: T1, title: "mine" });
    expect(await store.scoped(name).threads.load(T1)).toMatchObject({ metadata: { title: "mine" } });
    await store.scoped(DEFAULT_SCOPE).threads.create({ id: T2 });
    expect(await store.threads.load(T2)).toBeDefined();
    expect(await store.threads.load(T1)).toBeUndefined();
  });
}

/** One row of every kind, the same ids in every tenant. */
async function fill(store: ScopedStore): Promise<void> {
  const text = store.scopeId.slice(0, 20);
  await store.commit(
    append(0, [user("m1", text)], {
      run: runs.waiting({ agentId: `agent ${text}` }),
      threadState: state(1, { text }),
      ledger: { claims: [claim("c1", { input: text })], outcomes: [] },
      events: [{ ...event("e", { payload: { text } }), idempotency: { writerId: "w", key: "k" } }],
      ...ofQueue(store, {
        pending: { append: [{ message: user("p1", text) }] },
        dispatch: { type: "enqueue", dispatch: dispatch("d1", { dedupeKey: "k" }) },
      }),
    }),
  );
  await store.streamCheckpoints.put(checkpoint({ partialText: text }));
  await store.wishes.append({ type: "cancel", threadId: T1, runId: R1, wishId: "x1", reason: text });
  await store.profiles.put(profileOwner("a"), "k", text);
  await store.config.put({ namespace: "agents", id: "a", record: userRecord({ text }) });
}

const everythingQueued = async ({ pending, dispatches }: QueuePorts): Promise<unknown> => [
  await pending.load(T1),
  await pending.listUnattended(),
  await dispatches.load(dispatchId("d1")),
  await dispatches.list(T1, {}),
  await dispatches.countByStatus(),
];

/** Everything that a tenant can read, list or count. */
async function everything(store: ScopedStore): Promise<unknown> {
  const { threads, messages, runs: own, events, streamCheckpoints, ledger, profiles, config } = store;
  return [
    await threads.list({}),
    await threads.count({}),
    await threads.loadState(T1),
    await threads.loadHead(T1),
    await messages.list(T1, {}),
    await messages.count(T1),
    await messages.load(T1, [messageId("m1")]),
    await own.load(R1),
    await own.list({}),
    await own.count({}),
    await own.countByStatus(),
    await own.loadLatest(T1),
    await own.listByTicket(ticketId("tk1")),
    hasQueue(store) && (await everythingQueued(store)),
    (await events.list({ type: "thread", threadId: T1 }, {})).items.map((each) => each.payload),
    (await events.list({ type: "run", runId: R1 }, {})).items.map((each) => each.payload),
    await streamCheckpoints.load(R1, 0),
    await ledger.load(effectKey(R1, messageId("m1"), toolCallId("c1"))),
    await ledger.list(R1),
    await store.wishes.listOpen(R1),
    await profiles.list(profileOwner("a")),
    await config.list("agents"),
  ];
}

function isolation(it: StoreTest): void {
  it("server-and-durability 64: what one tenant writes no other one reads, lists or counts, whatever its name is", async ({ store }) => {
    const tenants = HOSTILE.map((name) => store.scoped(scopeId(name)));
    const empty = await everything(store);
    for (const [index, tenant] of tenants.entries()) {
      for (const later of tenants.slice(index)) expect(await everything(later), `${tenant.scopeId} | ${later.scopeId}`).toEqual(empty);
      await fill(tenant);
    }
    expect(await everything(store)).toEqual(empty);
    const written = await Promise.all(tenants.map(everything));
    for (const [index, own] of written.entries())
      expect(JSON.stringify(own)).toContain(JSON.stringify(HOSTILE[index]?.slice(0, 20)).slice(1, -1));
    expect(new Set(written.map((own) => JSON.stringify(own))).size).toBe(HOSTILE.length);
  });

  it("what one tenant changes or deletes stays with the others", async ({ store }) => {
    const [a, b] = [store.scoped(scopeId("a%")), store.scoped(scopeId("ab"))];
    await fill(a);
    await fill(b);
    const before = await everything(b);
    if (hasQueue(a)) {
      await takeNext(a, T1, WORKER);
      await a.dispatches.interrupt(T1);
      await a.pending.retract(T1, messageId("p1"), 1);
    }
    await a.profiles.clear(profileOwner("a"));
    await a.config.delete({ namespace: "agents", id: "a" });
    await a.streamCheckpoints.delete(R1, 0);
    await a.threads.delete(T1, "cascade");
    expect(await everything(b)).toEqual(before);
    if (hasQueue(b)) expect(await takeNext(b, T1, WORKER)).toMatchObject({ dispatchId: "d1", epoch: 0 });
  });
}

const tenants = <S extends ScopedStore>(store: { scoped(scopeId: ScopeId): S }) =>
  [store.scoped(scopeId("a")), store.scoped(scopeId("b"))] as const;

export function queueScopeConformance(it: QueueTest): void {
  it("a fence, a dedupe key, an idempotency key and an effect key of one tenant mean nothing in another", async ({ store }) => {
    const [a, b] = tenants(store);
    await fill(a);
    await fill(b);
    const held = (await takeNext(a, T1, WORKER)) ?? expect.fail();
    await failure(b.dispatches.ack(held), "fence_lost");
    await failure(b.commit(append(1, [user("m2")], { fence: held })), "fence_lost");
    expect(await b.dispatches.load(dispatchId("d1"))).toMatchObject({ status: "queued" });
    expect(await takeNext(b, T1, WORKER)).toBeDefined();
  });
}

function independence(it: StoreTest): void {
  it("a parent thread is looked for in the same tenant only", async ({ store }) => {
    const [a, b] = tenants(store);
    await a.threads.create({ id: T1 });
    await failure(b.threads.create({ id: T2, parentThreadId: T1 }), "storage_validation");
  });

  it("events and config changes of one tenant do not reach the listeners of another", async ({ store }) => {
    const [a, b] = tenants(store);
    const leave = new AbortController();
    const events = await a.events.subscribe({ type: "thread", threadId: T1 }, { type: "now" }, { signal: leave.signal });
    const [nextEvent, nextKey] = [
      events[Symbol.asyncIterator]().next(),
      a.config.watch({ signal: leave.signal })[Symbol.asyncIterator]().next(),
    ];
    await new Promise((resolve) => setTimeout(resolve, 50));
    await b.events.append([event("theirs")]);
    await b.config.put({ namespace: "agents", id: "theirs", record: userRecord({}) });
    await a.events.append([event("ours")]);
    await a.config.put({ namespace: "agents", id: "ours", record: userRecord({}) });
    expect((await nextEvent).value).toMatchObject({ kind: "ours" });
    expect((await nextKey).value).toMatchObject({ id: "ours" });
    leave.abort();
  });
}
