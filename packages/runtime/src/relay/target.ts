import { AwakenError, describeType, type RunId, type ThreadId, runId as toRunId, threadId as toThreadId } from "@awaken/contract";
import { type EventCursor, type EventScope, eventCursor } from "@awaken/contract/store";
import type { ToldPlace } from "../commit/holding.ts";
import type { ActiveRun } from "../run/active-runs.ts";
import type { Position } from "./rebuild.ts";
import type { Relay } from "./relay.ts";
import type { RelayStore } from "./relay-store.ts";

/** What is followed. */
export interface Target {
  readonly threadId: ThreadId;
  readonly scope: EventScope;
  readonly runId: RunId | undefined;
  /** The run that is not over. */
  readonly openRunId: RunId | undefined;
  /** That one is being executed. */
  readonly isUnderWay: boolean;
  /** Nothing of it was on record when it was looked for. */
  readonly isNew?: true;
  /** When that of the thread was written last. */
  readonly writtenAt: number;
}

/** The log's own cursor, and behind it how far the reader is in the run. */
export function writeCursor(cursor: EventCursor, position: Position): string {
  if (position.type === "none") return cursor;
  if (position.type === "over") return `${cursor}~0e`;
  if (position.type === "waiting") return `${cursor}~${position.step}w`;
  return `${cursor}~${position.step}${position.pending === undefined ? "" : `.${position.pending}`}`;
}

const PLACE = /^(.*)~(\d{1,9})(?:([ew])|\.(\d{1,9}))?$/s;

/** Where a reader begins. */
export interface Start {
  readonly cursor: EventCursor;
  readonly position: Position;
}

export function readCursor(after: string): Start {
  const [, cursor, digits, rests, pending] = PLACE.exec(after) ?? [];
  if (cursor === undefined) return { cursor: eventCursor(after), position: { type: "none" } };
  const step = Number(digits);
  if (rests === "e") return { cursor: eventCursor(cursor), position: { type: "over" } };
  if (rests === "w") return { cursor: eventCursor(cursor), position: { type: "waiting", step } };
  return { cursor: eventCursor(cursor), position: { type: "running", step, pending: pending === undefined ? undefined : Number(pending) } };
}

const notFound = (id: string) => new AwakenError("run_not_found", `no run and no thread has the id '${id}'`, { details: { id } });

export const isExpired = (thrown: unknown): boolean => AwakenError.is(thrown) && thrown.code === "cursor_expired";

const NEW = { writtenAt: 0, isUnderWay: false, isNew: true } as const;

function newTarget({ threadId, runId }: ActiveRun, id: string): Target {
  return id === threadId
    ? { threadId, scope: { type: "thread", threadId }, runId: undefined, openRunId: runId, ...NEW }
    : { threadId, scope: { type: "run", runId }, runId, openRunId: runId, ...NEW };
}

/** One that has begun here and is not on record yet. */
function newRun(relay: Relay, id: string): Target | undefined {
  const found = relay.find(id);
  return found.type === "found" ? newTarget(found.run, id) : undefined;
}

/** The same, when it is known that no record has its id: nothing has to be looked up. */
export function madeHere(relay: Relay, id: string): Target | undefined {
  const found = relay.find(id);
  return found.type === "found" && found.run.isNew && found.run.ctx === undefined ? newTarget(found.run, id) : undefined;
}

/** One that is promised, and waits in the queue. */
async function queuedRun({ runs, queuedOn }: RelayStore, runId: RunId): Promise<Target | "begun" | undefined> {
  const threadId = await queuedOn?.(runId);
  if (threadId !== undefined) return { threadId, scope: { type: "run", runId }, runId, openRunId: runId, ...NEW };
  // Between the two looks.
  return queuedOn !== undefined && (await runs.load(runId)) !== undefined ? "begun" : undefined;
}

export async function findTarget(relay: Relay, id: string): Promise<Target> {
  const { store } = relay;
  if (typeof id !== "string") throw new AwakenError("invalid_id", `the id of a run or thread must be a string, got ${describeType(id)}`);
  if (id.trim() === "") throw notFound(id);
  // Before the records are read: it may be on record, over and gone from here when they have been.
  const begun = newRun(relay, id);
  const [run, thread] = await Promise.all([store.runs.load(toRunId(id)), store.threads.load(toThreadId(id))]);
  if (run !== undefined && thread !== undefined && run.threadId !== thread.id) {
    throw new AwakenError("ambiguous_id", `'${id}' is the id of a run and that of another thread`, { details: { id } });
  }
  if (thread !== undefined) {
    const { id: threadId, openRunId, activeRunId, latestRun } = thread;
    const writtenAt = latestRun !== undefined && latestRun.id === openRunId ? latestRun.updatedAt : 0;
    const isUnderWay = activeRunId !== undefined && activeRunId === openRunId;
    return { threadId, scope: { type: "thread", threadId }, runId: undefined, openRunId, isUnderWay, writtenAt };
  }
  if (run === undefined) {
    const found = begun ?? newRun(relay, id) ?? (await queuedRun(store, toRunId(id)));
    if (found === "begun") return findTarget(relay, id);
    if (found !== undefined) return found;
    throw notFound(id);
  }
  const { runId, threadId, status, updatedAt: writtenAt } = run;
  const openRunId = status === "done" ? undefined : runId;
  return { threadId, scope: { type: "run", runId }, runId, openRunId, isUnderWay: status === "running", writtenAt };
}

/** Behind the newest event. Of an empty log that is its start. */
export async function startNow(relay: Relay, id: string): Promise<{ readonly target: Target; readonly from: Start | undefined }> {
  const { store } = relay;
  let target = await findTarget(relay, id);
  for (;;) {
    const cursor = await store.events.loadHead(target.scope);
    if (cursor === undefined) return { target, from: undefined };
    const before = target;
    target = await findTarget(relay, id);
    const { openRunId, isUnderWay } = target;
    // A run that began, stopped or ended meanwhile has said so before this place or behind it: nobody knows.
    if (openRunId !== before.openRunId || isUnderWay !== before.isUnderWay) continue;
    const run = openRunId === undefined ? undefined : await store.runs.load(openRunId);
    if (run === undefined || run.status === "created") return { target, from: { cursor, position: { type: "none" } } };
    const { steps: step } = run;
    return { target, from: { cursor, position: isUnderWay ? { type: "running", step, pending: undefined } : { type: "waiting", step } } };
  }
}

/** What was deleted is gone, whatever place in its log somebody has. */
export async function checkKept({ store }: Relay, { threadId, runId }: Target): Promise<void> {
  const found = runId === undefined ? await store.threads.load(threadId) : await store.runs.load(runId);
  if (found === undefined) throw notFound(runId ?? threadId);
}

/** Where retention took what was told, all that is left comes behind it. */
export async function keptPlace({ store }: Relay, { scope }: Target, place: ToldPlace): Promise<ToldPlace> {
  if (place.type !== "up-to") return place;
  try {
    await store.events.list(scope, { after: place.cursor, limit: 1 });
    return place;
  } catch (thrown) {
    if (isExpired(thrown)) return { type: "nothing" };
    throw thrown;
  }
}
