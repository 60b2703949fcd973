import { type JsonValue, messageId, messageText, runId, threadId } from "@awaken/contract";
import { DISPATCH_STATUSES, profileOwner, type QueueStore, selectPending } from "@awaken/contract/store";
import type { Runtime } from "@awaken/runtime";
import { ticketsOf } from "@awaken/runtime/testing";
import { expect } from "vitest";
import { ANSWERS, QUESTIONS, type World } from "./corpus-agent.ts";
import { createdRun, JOBS, jobId, LARGE, note, RUNS, TENANT, THREADS, WRITER } from "./corpus-records.ts";
import { eventsOf, expectValidLog, logOf } from "./history.ts";

// What has to be possible with records of any age.

export interface Opened {
  readonly store: QueueStore;
  readonly runtime: Runtime;
  /** What happened outside since the corpus was opened. */
  readonly world: World;
}

const resultsOf = async ({ store }: Opened, thread: ReturnType<typeof threadId>): Promise<readonly string[]> =>
  expectValidLog(await logOf(store, thread), thread)
    .filter((message) => message.role === "tool")
    .map(messageText);

const json = (value: JsonValue): string => JSON.stringify(value);

/** Three tickets, decided one after the other: edited, answered, and told to the tool. */
export async function finishApprovals(opened: Opened): Promise<void> {
  const { runtime } = opened;
  const tickets = async () => ticketsOf(await runtime.wait(RUNS.approvals));
  const open = async () => (await tickets()).map(({ action }) => action).sort();
  const ticketFor = async (action: string) => (await tickets()).find((ticket) => ticket.action === action)?.id ?? "";
  expect(await open()).toEqual(["approve", "choose", "visit"]);
  await runtime.decide(await ticketFor("approve"), { action: "approve", input: { amount: 90 }, by: "ana" });
  expect(await open()).toEqual(["choose", "visit"]);
  await runtime.decide(await ticketFor("visit"), { action: "answer", result: "a harbour" });
  expect(await open()).toEqual(["choose"]);
  await runtime.decide("choose-0", { action: "answer", result: { colour: "red" }, run: RUNS.approvals });
  expect(await runtime.wait(RUNS.approvals)).toMatchObject({
    status: "done",
    text: ANSWERS.approvals,
    termination: { type: "natural-end" },
  });
  expect(await resultsOf(opened, THREADS.approvals)).toEqual([
    json({ paid: 90 }),
    json({ colour: "red" }),
    json({ place: "Oslo", saw: "a harbour" }),
  ]);
}

/** Three calls of which nobody knows: one looks, one runs again under its key, one asks. */
export async function finishCut(opened: Opened): Promise<void> {
  const { store, runtime, world } = opened;
  const claims = await store.ledger.list(RUNS.cut, { statuses: ["claimed"] });
  expect(claims.map(({ toolName, attempt }) => `${toolName} ${attempt}`)).toEqual(["look-up 1", "repeat 1", "ask-somebody 1"]);
  const tickets = ticketsOf(await runtime.resume(RUNS.cut));
  expect(tickets.map(({ toolName, action, input }) => ({ toolName, action, input }))).toEqual([
    { toolName: "ask-somebody", action: "unknown-outcome", input: { order: "fourth" } },
  ]);
  await runtime.decide(tickets[0]?.id ?? "", { action: "answer", result: { ordered: "fourth", told: true } });
  expect(await runtime.wait(RUNS.cut)).toMatchObject({ status: "done", text: ANSWERS.cut, termination: { type: "natural-end" } });
  const key = claims.find(({ toolName }) => toolName === "repeat")?.idempotencyKey ?? "";
  expect([...world]).toEqual([[key, { tool: "repeat", order: "third" }]]);
  expect(await resultsOf(opened, THREADS.cut)).toEqual([
    json({ ordered: "first" }),
    json({ ordered: "second", found: true }),
    json({ ordered: "third" }),
    json({ ordered: "fourth", told: true }),
  ]);
}

/** The summary stands for what it covers, and the thread goes on behind it. */
export async function goOnCompacted({ store, runtime }: Opened): Promise<void> {
  const thread = THREADS.compacted;
  const rows = await logOf(store, thread);
  const mark = rows.map(({ message }) => message.metadata?.compaction).find((found) => found !== undefined);
  expect(mark).toMatchObject({ fromSeq: 1 });
  const before = (await store.threads.loadHead(thread))?.messages ?? [];
  expect(before.length).toBeLessThan(rows.length);
  expect(messageText(before[0]?.message ?? note("none", ""))).toContain("when the harbour is open");
  expect(before.some(({ seq }) => seq <= (mark?.toSeq ?? 0))).toBe(false);
  expect(expectValidLog(rows, thread)).toEqual(before.map(({ message }) => message));
  const next = await runtime.run({ agent: "scribe", thread, input: QUESTIONS.short });
  expect(next).toMatchObject({ status: "done", text: ANSWERS.short });
  const after = (await store.threads.loadHead(thread))?.messages ?? [];
  expect(after.slice(0, before.length)).toEqual(before);
  expect(after).toHaveLength(before.length + 2);
}

/** Edited, reordered messages enter the log as they were last written, once. */
export async function consumeQueue({ store }: Opened): Promise<void> {
  const { queue: thread } = THREADS;
  const { entries } = await store.pending.load(thread);
  expect(entries.map(({ pendingId, revision, position }) => `${position}: ${pendingId} at ${revision}`)).toEqual([
    "1: p3 at 1",
    "2: p1 at 2",
    "3: p4 at 1",
  ]);
  expect(await store.pending.listUnattended()).toEqual([thread]);
  await store.pending.update(thread, messageId("p4"), { revision: 1, message: note("p4", "very last words") });
  const texts: string[] = [];
  for (let left = entries.length; left > 0; ) {
    const now = selectPending((await store.pending.load(thread)).entries, "new-run", RUNS.queue);
    const messages = now.map((entry) => entry.message);
    const run = await store.runs.load(RUNS.queue);
    const created = createdRun(RUNS.queue, run?.createdAt ?? 0);
    const input = { triggerMessageIds: messages.map(({ id }) => id), selectedMessageIds: [] };
    await store.commit({
      ...{ threadId: thread, runId: RUNS.queue, run: { ...created, input } },
      messageDelta: { messages, expectedMessageCount: await store.messages.count(thread) },
      pending: { consume: { boundary: "new-run", entries: now.map(({ pendingId, revision }) => ({ pendingId, revision })) } },
    });
    texts.push(...messages.map(messageText));
    expect(now.length).toBeGreaterThan(0);
    left -= now.length;
  }
  expect(texts).toEqual([LARGE, "better words", "very last words"]);
  expect((await logOf(store, thread)).map(({ message }) => messageText(message))).toEqual(texts);
  const late = store.pending.update(thread, messageId("p1"), { revision: 2, message: note("p1", "too late") });
  await expect(late).rejects.toMatchObject({ code: "already_consumed" });
}

/** The lease of the claimed one is long over. */
export async function workOffJobs({ store }: Opened): Promise<void> {
  const { dispatches, queue } = store;
  expect([...JOBS].sort()).toEqual([...DISPATCH_STATUSES].sort());
  for (const status of JOBS) expect(await dispatches.load(jobId(status))).toMatchObject({ status, dedupeKey: `key-${status}` });
  expect((await queue.reclaimExpired()).map(({ dispatch }) => dispatch.dispatchId)).toEqual([jobId("claimed")]);
  for (const status of ["queued", "claimed"]) {
    const claimed = (await dispatches.claim(threadId(`${THREADS.jobs}-${status}`), { consumer: "node-2", leaseMs: 30_000 }))?.dispatch;
    expect(claimed?.dispatchId).toBe(jobId(status));
    if (claimed !== undefined) await dispatches.ack({ dispatchId: claimed.dispatchId, claimToken: claimed.claimToken });
  }
  for (const status of ["queued", "claimed", "acked"]) expect(await dispatches.load(jobId(status))).toMatchObject({ status: "acked" });
}

export async function readTheRest({ store }: Opened): Promise<void> {
  const [marked] = (await eventsOf(store, THREADS.queue)).filter(({ kind }) => kind === "marked");
  expect(marked).toMatchObject({ payload: { text: LARGE }, causationId: "cause", visibility: "audit" });
  const again = { schemaVersion: 1, kind: "marked", payload: { text: LARGE }, visibility: "audit", origin: "corpus" } as const;
  const repeated = await store.events.append([{ draft: { ...again, threadId: THREADS.queue, causationId: "cause" }, idempotency: WRITER }]);
  expect(repeated.map(({ eventId }) => eventId)).toEqual([marked?.eventId]);
  expect(await eventsOf(store, THREADS.swept)).toEqual([]);
  expect(await store.streamCheckpoints.load(RUNS.cut, 9)).toMatchObject({ partialText: "In mid-sen" });
  const wishes = await store.wishes.listOpen(RUNS.queue);
  expect(wishes).toHaveLength((await store.stats()).wishes);
  for (const wish of wishes)
    expect(wish).toMatchObject(wish.type === "cancel" ? { by: "ana" } : { decision: { metadata: { rule: "once" } } });
  expect(await store.profiles.load(profileOwner("clerk"), "likes")).toMatchObject({ value: { tea: true } });
  expect(await store.config.load({ namespace: "agents", id: "clerk" })).toMatchObject({ record: { spec: { instructions: "Be brief." } } });
  expect(await store.threads.load(threadId("parent"))).toMatchObject({
    resourceId: "resource",
    metadata: { title: "A title", custom: { colour: "red" } },
  });
  expect(await store.threads.load(threadId("child"))).toMatchObject({ parentThreadId: "parent" });
  expect((await store.threads.loadState(THREADS.approvals))?.extensions).toMatchObject({ "corpus.steps": { count: 1 } });
  expect(await store.threads.load(THREADS.tenant)).toBeUndefined();
  const tenant = store.scoped(TENANT);
  expect((await tenant.messages.list(THREADS.tenant, {})).items.map(({ message }) => messageText(message))).toEqual(["of a tenant"]);
  expect(await store.runs.load(runId("run-compacted-1"))).toMatchObject({ status: "done", outcome: { response: ANSWERS.long } });
}
