import {
  type AssistantMessage,
  type CompactionMark,
  type CreatedRun,
  type DispatchId,
  dispatchId,
  type Message,
  messageId,
  NO_USAGE,
  type PersistedState,
  type RunActivation,
  type RunProjection,
  runId,
  type SystemMessage,
  type ThreadId,
  type Ticket,
  type ToolMessage,
  threadId,
  ticketId,
  toolCallId,
  type UserMessage,
} from "@awaken/contract";
import {
  type ClaimedDispatch,
  type ClaimRequest,
  type EventAppend,
  type EventDraft,
  effectKey,
  hasQueue,
  type LedgerClaim,
  type NewDispatch,
  type QueuePorts,
  type StorePorts,
  type StreamCheckpoint,
  type ThreadCommit,
} from "@awaken/contract/store";

// Small valid records. Times of runs are given by the writer, so they are numbers of no meaning.

export const T1 = threadId("t1");
export const T2 = threadId("t2");
export const T3 = threadId("t3");
export const R1 = runId("r1");
export const R2 = runId("r2");
export const R3 = runId("r3");

export const user = (id: string, text = id): UserMessage => ({ id: messageId(id), role: "user", content: [{ type: "text", text }] });

export function assistant(id: string, calls: readonly string[] = []): AssistantMessage {
  const parts = calls.map((call) => ({ type: "tool-call", id: toolCallId(call), name: "refund", input: { amount: 90 } }) as const);
  return { id: messageId(id), role: "assistant", content: [{ type: "text", text: id }, ...parts] };
}

export const result = (id: string, call: string, status: ToolMessage["status"] = "success"): ToolMessage => ({
  id: messageId(id),
  role: "tool",
  toolCallId: toolCallId(call),
  toolName: "refund",
  status,
  content: [{ type: "text", text: id }],
});

export const retraction = (id: string, call: string): ToolMessage => ({ ...result(id, call, "error"), visibility: "internal" });

export const summary = (id: string, compaction: CompactionMark): SystemMessage => ({
  id: messageId(id),
  role: "system",
  visibility: "internal",
  content: [{ type: "text", text: id }],
  metadata: { compaction },
});

export const rewind = (id: string, fromSeq: number): SystemMessage => ({
  id: messageId(id),
  role: "system",
  visibility: "internal",
  content: [],
  metadata: { rewind: { fromSeq } },
});

export const ACTIVATION: RunActivation = {
  intent: { type: "new-intent" },
  options: { frontendTools: [] },
  trace: { origin: "user", runMode: "foreground", adapter: "internal" },
};

export const childOf = (parent: string): RunActivation => ({
  ...ACTIVATION,
  trace: { ...ACTIVATION.trace, parentThreadId: threadId(parent) },
});

type RunFields = Partial<Omit<CreatedRun, "status" | "schemaVersion">>;

const created = (fields: RunFields = {}): CreatedRun => ({
  schemaVersion: 2,
  status: "created",
  runId: R1,
  threadId: T1,
  agentId: "assistant",
  activation: ACTIVATION,
  input: { triggerMessageIds: [], selectedMessageIds: [] },
  createdAt: 1,
  updatedAt: 1,
  steps: 0,
  usage: NO_USAGE,
  decided: [],
  ...fields,
});

export const ticket = (id = "tk1", fields: Partial<Ticket> = {}): Ticket => ({
  id: ticketId(id),
  runId: R1,
  threadId: T1,
  toolCallId: toolCallId("c1"),
  toolName: "refund",
  input: { amount: 90 },
  action: "approve",
  resumeMode: "replay-tool-call",
  updatedAt: 2,
  ...fields,
});

/** The same run in each of its states. */
export const runs = {
  created,
  running: (fields: RunFields = {}): RunProjection => ({ ...created(fields), status: "running", startedAt: 1 }),
  waiting: (fields: RunFields = {}, tickets: readonly Ticket[] = [ticket()]): RunProjection => ({
    ...created(fields),
    status: "waiting",
    startedAt: 1,
    waiting: { reason: "suspended", tickets },
  }),
  done: (fields: RunFields = {}): RunProjection => ({
    ...created(fields),
    status: "done",
    startedAt: 1,
    finishedAt: 9,
    outcome: { termination: { type: "natural-end" }, response: "ok" },
  }),
} as const;

/** One that waits for its background tasks. */
export function awaitingTasks(fields: RunFields = {}): RunProjection {
  const run = runs.waiting(fields, []);
  return run.status === "waiting" ? { ...run, waiting: { reason: "awaiting-tasks", tickets: [] } } : run;
}

/** A commit of `R1` on `T1` that appends behind `expected` rows. */
export const append = (expected: number, messages: readonly Message[], more: Partial<ThreadCommit> = {}): ThreadCommit => ({
  threadId: T1,
  runId: R1,
  messageDelta: { messages, expectedMessageCount: expected },
  ...more,
});

/** A commit that writes a run and nothing else. */
export const write = (run: RunProjection, more: Partial<ThreadCommit> = {}): ThreadCommit => ({
  threadId: run.threadId,
  runId: run.runId,
  run,
  ...more,
});

export const state = (revision: number, extensions: PersistedState["extensions"] = {}): PersistedState => ({
  schemaVersion: 1,
  revision,
  extensions,
});

export const draft = (kind: string, fields: Partial<Omit<EventDraft, "threadId" | "runId">> = {}): EventDraft => ({
  schemaVersion: 1,
  threadId: T1,
  runId: R1,
  kind,
  payload: {},
  visibility: "public",
  origin: "loop",
  ...fields,
});

export const event = (kind: string, fields: Partial<Omit<EventDraft, "threadId" | "runId">> = {}): EventAppend => ({
  draft: draft(kind, fields),
});

export const keyed = (kind: string, key: string, fields: Partial<Omit<EventDraft, "threadId" | "runId">> = {}): EventAppend => ({
  draft: draft(kind, fields),
  idempotency: { writerId: "w1", key },
});

export const claim = (call: string, fields: Partial<LedgerClaim> = {}): LedgerClaim => ({
  idempotencyKey: effectKey(R1, messageId("m1"), toolCallId(call)),
  attempt: 1,
  messageId: messageId("m1"),
  toolCallId: toolCallId(call),
  toolName: "refund",
  step: 0,
  input: { amount: 90 },
  ...fields,
});

export const dispatch = (id: string, fields: Partial<NewDispatch> = {}): NewDispatch => ({
  dispatchId: dispatchId(id),
  threadId: T1,
  runId: R1,
  ...fields,
});

/** Parts of a commit that only a store with a queue takes. */
export const ofQueue = (store: StorePorts, parts: Pick<ThreadCommit, "pending" | "dispatch">): Partial<ThreadCommit> =>
  hasQueue(store) ? parts : {};

export const WORKER = { consumer: "node-1", leaseMs: 30_000 } as const;

type Queue = Pick<QueuePorts, "dispatches">;

/** The dispatch that a worker claims, without what its run begins with. */
export const takeNext = async ({ dispatches }: Queue, id: ThreadId, request: ClaimRequest): Promise<ClaimedDispatch | undefined> =>
  (await dispatches.claim(id, request))?.dispatch;

export const takeOne = async ({ dispatches }: Queue, id: DispatchId, request: ClaimRequest): Promise<ClaimedDispatch | undefined> =>
  (await dispatches.claimDispatch(id, request))?.dispatch;

export const ACKED = { type: "done", termination: { type: "natural-end" }, response: "ok" } as const;

export const checkpoint = (fields: Partial<StreamCheckpoint> = {}): StreamCheckpoint => ({
  schemaVersion: 1,
  runId: R1,
  step: 0,
  threadId: T1,
  upstreamModel: "m",
  partialText: "Hel",
  completedToolCalls: [{ id: toolCallId("c1"), name: "refund", input: {} }],
  inFlightTool: { id: toolCallId("c2"), name: "refund", partialInput: '{"a":' },
  updatedAt: 100,
  ...fields,
});
