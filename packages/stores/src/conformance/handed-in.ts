import { dispatchId, messageId, type RunId, runId, scopeId, type ThreadId, threadId } from "@awaken/contract";
import { userRecord } from "@awaken/contract/spec";
import { hasQueue, profileOwner, type QueueStore, type ScopedQueueStore, type Store } from "@awaken/contract/store";
import { describe, expect } from "vitest";
import { claimed, fenceOf } from "./dispatches.ts";
import { ACKED, append, assistant, checkpoint, dispatch, event, R1, runs, state, T1, T2, T3, user, WORKER, write } from "./records.ts";
import { decide } from "./wishes.ts";
import { type QueueTest, type StoreTest, take, vandalise } from "./world.ts";

const owner = profileOwner("a");
const deep = () => ({ list: [{ nested: "as it was" }] });

/** Everything that can be handed to a write, once. Nothing of it is shared: it is going to be changed. */
const given = () =>
  structuredClone({
    create: { id: T3, title: "new", custom: deep() },
    patch: { custom: deep() },
    commit: append(0, [user("m1"), assistant("a1", ["c1"])], { run: runs.running(), threadState: state(1, deep()), events: [event("e1")] }),
    events: [event("e2", { payload: deep() })],
    checkpoint: checkpoint(),
    profile: deep(),
    config: { namespace: "agents", id: "a", record: userRecord(deep()) },
    pending: [{ message: user("p1") }, { message: user("p2") }],
    dispatch: dispatch("d1"),
  });

type Given = ReturnType<typeof given>;

/** All at once, as far as the store has what takes it. */
const writeAll = (
  store: Store,
  { create, patch, commit, events, profile, config, pending, ...more }: Given,
): readonly Promise<unknown>[] => [
  store.threads.create(create),
  store.threads.update(T2, patch),
  store.commit(commit),
  store.events.append(events),
  store.streamCheckpoints.put(more.checkpoint),
  store.profiles.put(owner, "k", profile),
  store.config.put(config),
  ...(hasQueue(store) ? [store.pending.append(T1, pending), store.dispatches.enqueue(more.dispatch)] : []),
];

async function expectAsGiven(store: Store): Promise<void> {
  const { create, patch, commit, events, profile, config, pending } = given();
  expect((await store.threads.load(T3))?.metadata).toMatchObject({ title: create.title, custom: create.custom });
  expect((await store.threads.load(T2))?.metadata).toMatchObject(patch);
  const { items: messages } = await store.messages.list(T1, {});
  expect(messages.map(({ message }) => message)).toEqual(commit.messageDelta?.messages);
  expect(await store.threads.loadState(T1)).toEqual(commit.threadState);
  expect(await store.runs.load(R1)).toMatchObject({ ...commit.run });
  const { items: log } = await store.events.list({ type: "thread", threadId: T1 }, {});
  expect(log.map(({ kind, payload }) => [kind, payload]).sort()).toEqual(
    [...(commit.events ?? []), ...events].map(({ draft: { kind, payload } }) => [kind, payload]).sort(),
  );
  expect(await store.streamCheckpoints.load(R1, 0)).toEqual(checkpoint());
  expect((await store.profiles.load(owner, "k"))?.value).toEqual(profile);
  expect((await store.config.load({ namespace: "agents", id: "a" }))?.record.spec).toEqual(config.record.spec);
  if (!hasQueue(store)) return;
  expect((await store.pending.load(T1)).entries.map(({ message }) => message)).toEqual(pending.map(({ message }) => message));
  expect(await store.dispatches.list(T1, {})).toMatchObject([given().dispatch]);
}

export function handedInConformance(it: StoreTest): void {
  describe("what is handed in", () => {
    it("is read as it was when it was, also where a write stands in line behind a transaction", async ({ store }) => {
      await store.threads.create({ id: T2 });
      const gate = Promise.withResolvers<void>();
      const held = store.transaction(() => gate.promise);
      const all = given();
      const writing = writeAll(store, all);
      vandalise(all);
      gate.resolve();
      await held;
      await Promise.all(writing);
      await expectAsGiven(store);
    });

    it("stays his who handed it in: it is not frozen", async ({ store }) => {
      await store.threads.create({ id: T2 });
      const all = given();
      await Promise.all(writeAll(store, all));
      await store.messages.list(T1, {});
      const { profile, commit } = all;
      vandalise(all);
      expect(profile).toEqual({ list: "vandalised", vandal: true });
      expect(commit).toMatchObject({ messageDelta: "vandalised", vandal: true });
      await expectAsGiven(store);
    });
  });
}

const MOVES = ["acked", "nacked", "buried", "released", "started", "told", "renewed", "superseded"] as const;
type Move = (typeof MOVES)[number];

const onThread = (name: string): { readonly threadId: ThreadId; readonly runId: RunId } => ({
  threadId: threadId(name),
  runId: runId(name),
});

/** A claimed dispatch for each move, two that wait, messages that wait, a run, and a record to delete. */
async function prepare(store: QueueStore) {
  const fences: Partial<Record<Move, ReturnType<typeof fenceOf>>> = {};
  for (const move of MOVES) fences[move] = fenceOf(await claimed(store, move, onThread(move)));
  for (const id of ["next", "named"]) await store.dispatches.enqueue(dispatch(id, onThread(id)));
  await store.commit(write(runs.running()));
  await store.pending.append(T2, [{ message: user("p1") }, { message: user("p2") }]);
  await store.pending.append(T3, [{ message: user("q1") }]);
  for (const id of ["gone", "kept"]) await store.config.put({ namespace: "agents", id, record: userRecord(deep()) });
  const [{ revision }, edited] = [await store.pending.load(T2), (await store.pending.load(T3)).entries[0]];
  return { fences, revision, edited };
}

type Prepared = Awaited<ReturnType<typeof prepare>>;

const givenToQueue = ({ fences, edited }: Prepared) =>
  structuredClone({
    fences,
    decision: decide("d1", "tk9", { by: "ana", metadata: deep() }),
    cancel: { type: "cancel", threadId: T1, runId: R1, wishId: "x1", by: "ana" } as const,
    options: { resume: false },
    edit: { revision: edited?.revision ?? 0, message: user("q1", "better") },
    order: [messageId("p2"), messageId("p1")],
    failure: { error: "e", delayMs: 70 },
    result: { ...ACKED },
    request: { ...WORKER },
    gone: { namespace: "agents", id: "gone" },
    guard: { expectedRevision: 1 },
    kept: { namespace: "agents", id: "kept", record: userRecord({ list: [] }) },
    next: dispatch("new", { ...onThread("new"), priority: 7, dedupeKey: "k" }),
  });

type GivenToQueue = ReturnType<typeof givenToQueue>;

function moveAll(store: QueueStore, { revision }: Prepared, given: GivenToQueue): readonly Promise<unknown>[] {
  const { dispatches, pending, wishes } = store;
  const { request, options } = given;
  const fence = (move: Move) => given.fences[move] ?? expect.fail(move);
  return [
    wishes.append(given.decision, options),
    wishes.append(given.cancel, options),
    pending.update(T3, messageId("q1"), given.edit),
    pending.reorder(T2, given.order, revision),
    dispatches.enqueue(given.next),
    dispatches.ack(fence("acked")),
    dispatches.nack(fence("nacked"), given.failure),
    dispatches.deadLetter(fence("buried"), "dead"),
    dispatches.release(fence("released")),
    dispatches.recordStart(fence("started"), "i1"),
    dispatches.recordResult(fence("told"), given.result),
    dispatches.extendLease(fence("renewed"), 60_000),
    dispatches.supersedeClaimed(fence("superseded"), "why"),
    dispatches.claim(threadId("next"), request),
    dispatches.claimDispatch(dispatchId("named"), request),
    store.config.delete(given.gone, given.guard),
    store.config.put(given.kept, given.guard),
  ];
}

async function expectMoved(store: QueueStore, prepared: Prepared, now: number): Promise<void> {
  const { decision, cancel, edit, failure, next, order, result, kept } = givenToQueue(prepared);
  expect([await store.wishes.load("d1"), await store.wishes.load("x1")]).toMatchObject([decision, cancel]);
  expect((await store.pending.load(T3)).entries).toMatchObject([{ message: edit.message }]);
  expect((await store.pending.load(T2)).entries.map(({ message }) => message.id)).toEqual(order);
  const rows: Record<string, unknown> = {};
  for (const id of [...MOVES, "next", "named", "new"]) rows[id] = await store.dispatches.load(dispatchId(id));
  const { consumer: claimedBy, leaseMs } = WORKER;
  expect(rows).toMatchObject({
    acked: { status: "acked" },
    nacked: { status: "queued", attemptCount: 1, lastError: failure.error, availableAt: now + failure.delayMs },
    buried: { status: "dead-letter", lastError: "dead" },
    released: { status: "queued", attemptCount: 0 },
    started: { status: "claimed", echo: { type: "started", instanceId: "i1" } },
    told: { status: "claimed", echo: { type: "result", result } },
    renewed: { status: "claimed", leaseUntil: now + 60_000 },
    superseded: { status: "superseded", lastError: "why" },
    next: { status: "claimed", claimedBy, leaseUntil: now + leaseMs },
    named: { status: "claimed", claimedBy, leaseUntil: now + leaseMs },
    new: { ...next, status: "queued" },
  });
  expect(await store.config.load({ namespace: "agents", id: "gone" })).toBeUndefined();
  expect(await store.config.load({ namespace: "agents", id: "kept" })).toMatchObject({ record: { spec: kept.record.spec } });
}

/** The same for what moves a queue. */
export function queueHandedInConformance(it: QueueTest): void {
  describe("what is handed to a queue", () => {
    readAtOnce(it);
    aboutAll(it);
    staysHis(it);
  });
}

function readAtOnce(it: QueueTest): void {
  it("is read as it was when it was, also where a write stands in line behind a transaction", async ({ store, clock }) => {
    const prepared = await prepare(store);
    const gate = Promise.withResolvers<void>();
    const held = store.transaction(() => gate.promise);
    const all = givenToQueue(prepared);
    const writing = moveAll(store, prepared, all);
    vandalise(all);
    gate.resolve();
    await held;
    await Promise.all(writing);
    await expectMoved(store, prepared, clock.now());
  });
}

function aboutAll(it: QueueTest): void {
  it("also where it is about all tenants: who is gone, and how long things stay", async ({ store, clock }) => {
    await store.dispatches.ack(fenceOf(await claimed(store, "over", onThread("over"))));
    await store.events.append([event("e1")]);
    clock.advance(1_001);
    await store.events.append([event("e2")]);
    await claimed(store, "d1");
    const gate = Promise.withResolvers<void>();
    const held = store.transaction(() => gate.promise);
    const [gone, retention] = [[WORKER.consumer], { eventsMs: 1_000, dispatchesMs: 1_000 }];
    const [reclaiming, sweeping] = [store.queue.reclaimExpired(undefined, gone), store.sweep(retention)];
    vandalise([gone, retention]);
    gate.resolve();
    await held;
    expect(await reclaiming).toMatchObject([{ dispatch: { dispatchId: "d1", status: "queued" } }]);
    expect(await sweeping).toMatchObject({ events: 1, dispatches: 1 });
  });

  it("also a hint", async ({ store }) => {
    const leaving = new AbortController();
    const heard = take(store.queue.hints({ signal: leaving.signal }), 1);
    const isHeard = heard.then(() => true);
    const hint = { type: "cancel", ...onThread("hinted") } as const;
    // Listening may need a moment.
    do {
      const given = { ...hint };
      const gate = Promise.withResolvers<void>();
      const held = store.transaction(() => gate.promise);
      const hinting = store.dispatches.hint(given);
      vandalise(given);
      gate.resolve();
      await Promise.all([held, hinting]);
    } while (!(await Promise.race([isHeard, new Promise((resolve) => setImmediate(resolve, false))])));
    expect(await heard).toEqual([{ ...hint, scopeId: "default" }]);
    leaving.abort();
  });
}

function staysHis(it: QueueTest): void {
  it("stays his who handed it in, and what he is given is his or frozen: his edits reach no later reader", async ({ store, clock }) => {
    const prepared = await prepare(store);
    const all = givenToQueue(prepared);
    const given = await Promise.all(moveAll(store, prepared, all));
    const { decision } = all;
    vandalise(all);
    expect(decision).toMatchObject({ type: "vandalised", decision: "vandalised", vandal: true });
    vandalise(given);
    vandalise([await store.wishes.listOpen(R1), await store.pending.load(T2), await store.pending.load(T3)]);
    for (const id of [...MOVES, "next", "named", "new"]) vandalise(await store.dispatches.load(dispatchId(id)));
    await expectMoved(store, prepared, clock.now());
  });

  it("by two tenants is for each of them: what one does with his does not reach the other", async ({ store }) => {
    const tenants = [store, store.scoped(scopeId("other"))];
    const given = { wish: decide("d1", "tk9", { metadata: deep() }), dispatch: dispatch("d1"), pending: [{ message: user("p1") }] };
    const read = async ({ wishes, dispatches, pending }: ScopedQueueStore) => [
      await wishes.load("d1"),
      await dispatches.load(dispatchId("d1")),
      (await pending.load(T1)).entries,
    ];
    for (const { commit, wishes, dispatches, pending } of tenants) {
      await commit(write(runs.running()));
      const stored = [await wishes.append(given.wish), await dispatches.enqueue(given.dispatch), await pending.append(T1, given.pending)];
      vandalise(stored);
    }
    const before = await Promise.all(tenants.map(async (tenant) => structuredClone(await read(tenant))));
    for (const tenant of tenants) vandalise(await read(tenant));
    vandalise(given);
    expect(await Promise.all(tenants.map(read))).toEqual(before);
    expect(JSON.stringify(before)).not.toContain("vandal");
  });
}
