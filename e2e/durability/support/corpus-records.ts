import {
  type DispatchId,
  decisionId,
  dispatchId,
  messageId,
  NO_USAGE,
  type RunProjection,
  runId,
  scopeId,
  threadId,
  ticketId,
  type UserMessage,
} from "@awaken/contract";
import { userRecord } from "@awaken/contract/spec";
import { profileOwner, type QueueStore } from "@awaken/contract/store";
import { type Clock, type Ids, systemClock } from "@awaken/runtime";
import { countingIds, crashPoints } from "@awaken/runtime/testing";
import { corpusRuntime, QUESTIONS } from "./corpus-agent.ts";

// Writes one of everything into an empty store. The corpus is what this wrote at some time in the past.

export const THREADS = {
  approvals: threadId("approvals"),
  cut: threadId("cut"),
  compacted: threadId("compacted"),
  queue: threadId("queue"),
  jobs: threadId("jobs"),
  swept: threadId("swept"),
  tenant: threadId("of-a-tenant"),
} as const;
export const RUNS = { approvals: runId("run-approvals"), cut: runId("run-cut"), queue: runId("run-queue") } as const;
export const TENANT = scopeId("tenant");
export const LARGE = "a large part ".repeat(40);
/** Parts above this are stored apart. */
export const BLOB_BYTES = 300;
export const WRITER = { writerId: "corpus", key: "once" } as const;
export const JOBS = ["queued", "claimed", "acked", "cancelled", "dead-letter", "superseded"] as const;
export const jobId = (status: string): DispatchId => dispatchId(`job-${status}`);

/** Every look at it is a millisecond later. */
export function tickingClock(): Clock & { advance(ms: number): void } {
  let now = Date.UTC(2026, 0, 15);
  return {
    now: () => ++now,
    timer: (ms, run) => systemClock.timer(ms, run),
    advance: (ms) => {
      now += ms;
    },
  };
}

const SILENT = { warn() {}, error() {} };
const HOUR_MS = 3_600_000;

export const note = (id: string, text: string): UserMessage => ({ id: messageId(id), role: "user", content: [{ type: "text", text }] });

export interface Tools {
  readonly store: QueueStore;
  readonly clock: ReturnType<typeof tickingClock>;
  readonly ids: Ids;
}

export async function writeCorpus({ store, clock }: Pick<Tools, "store" | "clock">): Promise<void> {
  const tools: Tools = { store, clock, ids: countingIds() };
  await writeSwept(tools);
  await writeApprovals(tools);
  await writeCut(tools);
  await writeCompacted(tools);
  await writeQueue(tools);
  await writeJobs(tools);
  await writeSmall(tools);
}

/** Events that retention has deleted. */
async function writeSwept({ store, clock }: Tools): Promise<void> {
  const draft = { schemaVersion: 1, kind: "old", payload: {}, visibility: "public", origin: "corpus", threadId: THREADS.swept } as const;
  await store.events.append([{ draft }]);
  clock.advance(2 * HOUR_MS);
  await store.sweep({ eventsMs: HOUR_MS });
}

/** A run that waits with three tickets, one of each mode. */
async function writeApprovals({ store, clock, ids }: Tools): Promise<void> {
  const runtime = corpusRuntime({ store, clock, ids, log: SILENT, world: new Map() });
  const input = [{ role: "user", id: "ask-approvals", content: QUESTIONS.approvals }] as const;
  await runtime.run({ agent: "clerk", thread: THREADS.approvals, runId: RUNS.approvals, input });
}

/** A run whose process died in its second step, when three tools had begun. */
async function writeCut({ store, clock, ids }: Tools): Promise<void> {
  const crash = crashPoints({ at: "tool-start", nth: 4, mode: "throw" });
  const runtime = corpusRuntime({
    ...{ clock, ids, log: SILENT, world: new Map() },
    store: crash.commits(store, "commit", "transaction"),
    wrap: crash.tools,
  });
  const input = [{ role: "user", id: "ask-cut", content: QUESTIONS.cut }] as const;
  await runtime.run({ agent: "clerk", thread: THREADS.cut, runId: RUNS.cut, input }).catch(() => {});
  if (!crash.hasCrashed) throw new Error("the run was not cut");
}

async function writeCompacted({ store, clock, ids }: Tools): Promise<void> {
  const runtime = corpusRuntime({ store, clock, ids, log: SILENT, world: new Map() });
  for (const index of [1, 2]) {
    const input = [{ role: "user", id: `ask-compacted-${index}`, content: QUESTIONS.long }] as const;
    await runtime.run({ agent: "scribe", thread: THREADS.compacted, runId: `run-compacted-${index}`, input });
  }
}

export const createdRun = (run: ReturnType<typeof runId>, at: number): RunProjection => ({
  schemaVersion: 2,
  status: "created",
  runId: run,
  threadId: THREADS.queue,
  agentId: "clerk",
  activation: {
    intent: { type: "new-intent" },
    options: { frontendTools: [] },
    trace: { origin: "user", runMode: "scheduled", adapter: "internal" },
  },
  input: { triggerMessageIds: [], selectedMessageIds: [] },
  createdAt: at,
  updatedAt: at,
  steps: 0,
  usage: NO_USAGE,
  decided: [],
});

/** Messages that wait: one was edited, one was taken back, and they were reordered. */
async function writeQueue({ store, clock }: Tools): Promise<void> {
  const { queue } = THREADS;
  await store.commit({ threadId: queue, runId: RUNS.queue, run: createdRun(RUNS.queue, clock.now()), isNewRun: true });
  await store.pending.append(queue, [
    { message: note("p1", "first words") },
    { message: note("p2", "taken back") },
    { message: note("p3", LARGE), deliveryMode: { boundary: "next-step", granularity: "one" } },
    { message: note("p4", "last words"), deliveryMode: { targetRunId: RUNS.queue, barrier: true } },
  ]);
  await store.pending.update(queue, messageId("p1"), { revision: 1, message: note("p1", "better words") });
  await store.pending.retract(queue, messageId("p2"), 1);
  const { revision } = await store.pending.load(queue);
  await store.pending.reorder(queue, [messageId("p3"), messageId("p1"), messageId("p4")], revision);
}

/** A dispatch in each state. */
async function writeJobs({ store, clock }: Tools): Promise<void> {
  const claim = { consumer: "node-1", leaseMs: 30_000 };
  for (const status of JOBS) {
    const id = jobId(status);
    const thread = threadId(`${THREADS.jobs}-${status}`);
    await store.dispatches.enqueue({
      dispatchId: id,
      threadId: thread,
      runId: runId(`run-${id}`),
      priority: 7,
      dedupeKey: `key-${status}`,
    });
    if (status === "queued") continue;
    if (status === "cancelled") await store.dispatches.cancel(id);
    if (status === "superseded") await store.dispatches.interrupt(thread);
    const claimed = (await store.dispatches.claim(thread, claim))?.dispatch;
    if (claimed === undefined) continue;
    const fence = { dispatchId: id, claimToken: claimed.claimToken };
    await store.dispatches.recordStart(fence, "instance-1");
    if (status === "acked") {
      await store.dispatches.recordResult(fence, { type: "done", termination: { type: "natural-end" }, response: "ok" });
      await store.dispatches.ack(fence);
    }
    if (status === "dead-letter") await store.dispatches.deadLetter(fence, "no such agent");
  }
  clock.advance(60_000);
}

/** What has a port of its own. */
async function writeSmall({ store, clock }: Tools): Promise<void> {
  const draft = { schemaVersion: 1, kind: "marked", payload: { text: LARGE }, visibility: "audit", origin: "corpus" } as const;
  await store.events.append([{ draft: { ...draft, threadId: THREADS.queue, causationId: "cause" }, idempotency: WRITER }]);
  await store.streamCheckpoints.put({
    schemaVersion: 1,
    runId: RUNS.cut,
    step: 9,
    threadId: THREADS.cut,
    upstreamModel: "scripted-1",
    partialText: "In mid-sen",
    completedToolCalls: [],
    updatedAt: clock.now(),
  });
  const wished = { threadId: THREADS.queue, runId: RUNS.queue };
  const decision = { id: decisionId("wished-1"), action: "approve", input: { amount: 3 }, by: "ana", metadata: { rule: "once" } } as const;
  await store.wishes.append({ ...wished, type: "decision", ticketId: ticketId("tk-9"), decision: { ...decision, decidedAt: clock.now() } });
  await store.wishes.append({ ...wished, type: "cancel", wishId: "wished-2", by: "ana", reason: "not needed any more" });
  await store.profiles.put(profileOwner("clerk"), "likes", { tea: true });
  await store.config.put({ namespace: "agents", id: "clerk", record: userRecord({ instructions: "Be brief." }) });
  const parent = await store.threads.create({
    id: threadId("parent"),
    title: "A title",
    resourceId: "resource",
    custom: { colour: "red" },
  });
  await store.threads.create({ id: threadId("child"), parentThreadId: parent.id });
  const tenant = store.scoped(TENANT);
  await tenant.commit({
    threadId: THREADS.tenant,
    runId: runId("run-of-a-tenant"),
    messageDelta: { messages: [note("m1", "of a tenant")], expectedMessageCount: 0 },
  });
}
