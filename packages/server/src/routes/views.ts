import { isJsonObject, type JsonObject, openTicketsOf, type RunRecord, type Ticket } from "@awaken/contract";
import type { AnswerOf, Routes } from "@awaken/contract/http";
import type { EventCursor, MessageRecord, PendingRecord, StoredEvent, ThreadRecord } from "@awaken/contract/store";
import type { AttachedEvent } from "@awaken/runtime";

export type ThreadView = AnswerOf<Routes["loadThread"]>;
export type RunView = AnswerOf<Routes["loadRun"]>;
type MessageRow = AnswerOf<Routes["listMessages"]>["items"][number];
type PendingView = AnswerOf<Routes["editPending"]>;
type EventRow = AnswerOf<Routes["listThreadEvents"]>["items"][number];

/** What clients see of records: what only stores and workers need stays out. */
export function viewThread({ schemaVersion: _, latestRun, ...thread }: ThreadRecord): ThreadView {
  return { ...thread, ...(latestRun === undefined ? undefined : { latestRunId: latestRun.id }) };
}

/** A run with its own tickets, unless those of the runs below it are known too. */
export function viewRun(run: RunRecord, tickets: readonly Ticket[] = openTicketsOf(run)): RunView {
  const { runId, threadId, agentId, parentRunId, rootRunId, createdAt, updatedAt, steps, usage, usageByModel } = run;
  const facts = {
    runId,
    threadId,
    agentId,
    createdAt,
    updatedAt,
    steps,
    usage,
    ...(parentRunId === undefined ? undefined : { parentRunId }),
    ...(rootRunId === undefined ? undefined : { rootRunId }),
    ...(usageByModel === undefined ? undefined : { usageByModel: [...usageByModel] }),
  };
  switch (run.status) {
    case "created":
      return { ...facts, status: run.status };
    case "running":
      return { ...facts, status: run.status, startedAt: run.startedAt, tickets: [...tickets] };
    case "waiting":
      return { ...facts, status: run.status, startedAt: run.startedAt, waitingReason: run.waiting.reason, tickets: [...tickets] };
    case "done": {
      const { startedAt, finishedAt, outcome } = run;
      return { ...facts, status: run.status, finishedAt, ...(startedAt === undefined ? undefined : { startedAt }), ...outcome };
    }
  }
}

export const viewMessage = ({ seq, createdAt, message }: MessageRecord): MessageRow => ({ seq, createdAt, message });

export const viewPending = ({ schemaVersion: _, threadId: __, ...pending }: PendingRecord): PendingView => pending;

/** Who executes a run is nobody's business outside. */
const withoutDispatch = <T extends { readonly dispatchId?: unknown }>({ dispatchId: _, ...identity }: T): Omit<T, "dispatchId"> => identity;

function viewPayload(payload: JsonObject): JsonObject {
  const { identity, dispatchId: _, ...rest } = payload;
  return isJsonObject(identity) ? { ...rest, identity: withoutDispatch(identity) } : rest;
}

export const viewEvent = (event: StoredEvent, cursor: EventCursor): EventRow => ({
  eventId: event.eventId,
  cursor,
  kind: event.kind,
  createdAt: event.createdAt,
  visibility: event.visibility,
  payload: viewPayload(event.payload),
  ...(event.threadId === undefined ? undefined : { threadId: event.threadId }),
  ...(event.runId === undefined ? undefined : { runId: event.runId }),
});

export const viewAttached = (event: AttachedEvent): AttachedEvent =>
  event.type === "run-start" && event.identity.dispatchId !== undefined ? { ...event, identity: withoutDispatch(event.identity) } : event;
