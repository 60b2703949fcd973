import { AwakenError, type JsonObject, type RunRecord, runId, threadId } from "@awaken/contract";
import type { AnswerOf, BodyOf, QueryOf, Route, RouteName, Routes } from "@awaken/contract/http";
import type {
  DispatchStore,
  EventStore,
  MessageStore,
  PendingStore,
  QueueStoreStats,
  RunStore,
  StoreStats,
  ThreadRecord,
  ThreadStore,
} from "@awaken/contract/store";
import type { AttachedEvent, Clock, Runtime, ScopedRuntime } from "@awaken/runtime";
import type { WrittenEvents } from "../http/event-writer.ts";

/** What the server calls of a store beside the verbs of the runtime: lists of what is there. */
export interface ServedRecords {
  readonly threads: Pick<ThreadStore, "load" | "list" | "count" | "create" | "update" | "delete">;
  readonly messages: Pick<MessageStore, "list" | "count" | "load">;
  readonly runs: Pick<RunStore, "load" | "list" | "count" | "countByStatus" | "loadLatest" | "listOpenTickets" | "listByTicket">;
  readonly events: Pick<EventStore, "list">;
  readonly dispatches: Pick<DispatchStore, "listAll" | "countByStatus">;
  readonly pending: Pick<PendingStore, "load" | "listUnattended">;
}

export interface ServedStore extends ServedRecords {
  scoped(scopeId: string): ServedRecords;
  /** For metrics; a store may leave it out. */
  stats?(): Promise<StoreStats | QueueStoreStats>;
}

/** What the server calls of a runtime. */
export type ServedRuntime = Pick<Runtime, "scoped" | "recover" | "store" | "watch">;

const PORTS = ["threads", "messages", "runs", "events", "scoped", "dispatches", "pending"];

/** Whether it is a store of ours or one like it: with lists, events and a queue. */
export function isServable(store: object | undefined): store is ServedStore {
  return store !== undefined && PORTS.every((port) => port in store);
}

/** The tenant of one request. */
export interface Tenant {
  readonly runtime: ScopedRuntime;
  readonly records: ServedRecords;
  readonly principal: JsonObject | undefined;
}

/** What the server knows about itself. */
export interface ServerFacts {
  readonly version: string;
  readonly startedAt: number;
  readonly modules: readonly string[];
  /** How many there are. */
  readonly routes: number;
  health(): Promise<AnswerOf<Routes["health"]>>;
  metrics(): Promise<string>;
  openApi(): JsonObject;
}

/** A request that was let in and fits its route. */
export interface Call<R extends Route> {
  readonly tenant: Tenant;
  readonly params: Readonly<Record<string, string>>;
  readonly query: QueryOf<R>;
  readonly body: BodyOf<R>;
  readonly headers: Headers;
  readonly isAdmin: boolean;
  readonly server: ServerFacts;
  readonly clock: Clock;
}

/** Events that are there to be read: what could be refused was. */
export interface EventReply {
  readonly events: WrittenEvents;
  /** Called when the reader goes before the end; not when the server ends his stream. */
  readonly onLeft?: () => void;
  readonly runId?: string;
  readonly threadId?: string;
}

/** Turns events into frames. One for each stream: it may remember what it wrote. */
export interface FrameEncoder {
  /** Whole frames, or nothing for an event that the protocol does not show. */
  encode(event: AttachedEvent): string;
  /** What is written when no event comes any more. Undefined: that is not where it ends, and the connection is cut, so that its reader comes back. */
  end(): string | undefined;
  /** The same when the events have failed. */
  fail(body: { readonly error: string; readonly code: string }): string;
}

/** Events in the words of a protocol. */
export interface FrameReply extends EventReply {
  readonly encoder: FrameEncoder;
}

/** Only a row that says so may have nothing to tell. */
type WhenOver<Answer> = Answer extends { readonly canBeOver: true } ? undefined : never;

export type ReplyOf<R extends Route> = R["answer"] extends { readonly type: "events" }
  ? EventReply | WhenOver<R["answer"]>
  : R["answer"] extends { readonly type: "frames" }
    ? FrameReply | WhenOver<R["answer"]>
    : R["answer"] extends { readonly type: "text" }
      ? string
      : R["answer"] extends { readonly type: "empty" }
        ? undefined
        : AnswerOf<R>;

export type Handler<R extends Route> = (call: Call<R>) => Promise<ReplyOf<R>>;
export type Handlers<Names extends RouteName> = { readonly [Name in Names]: Handler<Routes[Name]> };

const MAX_ID = 512;

/** What can be said in a path and in a header, and kept by any database: whatever comes of a body can be asked for again. */
export function checkId(value: string): string {
  if (value.trim() !== "" && value.length <= MAX_ID && !value.includes("\u0000") && value.isWellFormed()) return value;
  throw new AwakenError("invalid_id", `an id has 1 to ${MAX_ID} characters, none of them NUL or half a surrogate pair, and is not blank`);
}

/** The id in the path. */
export const idOf = ({ params }: { readonly params: Readonly<Record<string, string>> }, name = "id"): string => params[name] ?? "";

export const noThread = (id: string) => new AwakenError("thread_not_found", `there is no thread '${id}'`, { details: { threadId: id } });
export const noRun = (id: string) => new AwakenError("run_not_found", `there is no run '${id}'`, { details: { runId: id } });

export async function theThread({ records }: Tenant, id: string): Promise<ThreadRecord> {
  const thread = await records.threads.load(threadId(id));
  if (thread === undefined) throw noThread(id);
  return thread;
}

export async function theRun({ records }: Tenant, id: string): Promise<RunRecord> {
  const run = await records.runs.load(runId(id));
  if (run === undefined) throw noRun(id);
  return run;
}

/** The run that works or waits on the thread. */
export async function activeRun({ records }: Tenant, thread: ThreadRecord): Promise<RunRecord | undefined> {
  const { activeRunId, openRunId } = thread;
  const active = activeRunId === undefined ? undefined : await records.runs.load(activeRunId);
  if (active?.status === "running") return active;
  const open = openRunId === undefined ? undefined : await records.runs.load(openRunId);
  return open?.status === "running" || open?.status === "waiting" ? open : undefined;
}
