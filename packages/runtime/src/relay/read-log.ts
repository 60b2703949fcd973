import {
  AwakenError,
  type Message,
  type MessageId,
  messageId,
  messageText,
  type RunId,
  type RunRecord,
  type ThreadId,
} from "@awaken/contract";
import type { EventCursor, EventScope, StoredEvent } from "@awaken/contract/store";
import { messagesOfFact } from "./read-fact.ts";
import type { RelayStore } from "./relay-store.ts";

const PAGE = 200;
const NOTHING: readonly never[] = Object.freeze([]);

/** What one run put into the log at one moment, with what its facts refer to. */
export interface Commit {
  readonly events: readonly StoredEvent[];
  readonly cursor: EventCursor;
  readonly run: RunRecord;
  message(id: string): Message | undefined;
  /** What the run had said last by then. */
  readonly lastWords: string;
}

/** What somebody put there for no run that is on record. */
export interface Outside {
  readonly events: readonly StoredEvent[];
  readonly cursor: EventCursor;
  readonly run: undefined;
}

/**
 * Messages stand before the facts of their commit, so a commit begins where messages follow facts. Commits without messages are read as
 * part of the one before them: for whoever follows that is the same.
 */
const beginsCommit = (before: StoredEvent, event: StoredEvent): boolean =>
  before.runId !== event.runId || (event.kind === "message-committed" && before.kind !== "message-committed");

/** Events of one commit, and the newest message that the log had told of by then. */
interface Gathered {
  readonly events: StoredEvent[];
  last: StoredEvent;
  lastSeq: number | undefined;
}

export interface LogPlace {
  readonly threadId: ThreadId;
  readonly scope: EventScope;
  readonly after: EventCursor | undefined;
  /** A commit ends here, also when the next one has no messages. */
  readonly cutAt: EventCursor | undefined;
}

/** Reads a log from a position on, one pass after the other: a pass ends where the log does. */
export class LogReader {
  readonly #store: RelayStore;
  readonly #threadId: ThreadId;
  readonly #scope: EventScope;
  readonly #cutAt: EventCursor | undefined;
  #after: EventCursor | undefined;
  /** The newest message that was read of; undefined before the first. */
  #lastSeq: number | undefined;
  /** Of this pass: commits that were read and not given, the one that may go on, and whether the log has more. */
  #gathered: Gathered[] = [];
  #open: Gathered | undefined;
  #hasMore = true;
  #messages: Map<string, Message> | undefined;
  #runs: Map<RunId, RunRecord | undefined> | undefined;

  constructor(store: RelayStore, { threadId, scope, after, cutAt }: LogPlace) {
    this.#store = store;
    this.#threadId = threadId;
    this.#scope = scope;
    this.#after = after;
    this.#cutAt = cutAt;
  }

  /** Nothing was ever in it, as far as is known. */
  get isEmpty(): boolean {
    return this.#after === undefined;
  }

  /** The next commits that were not read before, those of one page together. Undefined at the end of the log: what comes after it begins another pass. */
  async next(): Promise<readonly (Commit | Outside)[] | undefined> {
    while (this.#hasMore) {
      await this.#readPage();
      if (!this.#hasMore) this.#endOpen();
      if (this.#gathered.length === 0) continue;
      const commits: (Commit | Outside)[] = [];
      for (const { events, last, lastSeq } of this.#gathered.splice(0)) {
        const { runId } = last;
        this.#runs ??= new Map();
        if (runId !== undefined && !this.#runs.has(runId)) this.#runs.set(runId, await this.#store.runs.load(runId));
        const run = runId === undefined ? undefined : this.#runs.get(runId);
        const lastWords = run !== undefined && isSuspended(events) ? await this.#lastWords(run.runId, last.createdAt, lastSeq) : "";
        commits.push(this.#commitOf(events, this.#cursorOf(last), run, lastWords));
      }
      return commits;
    }
    this.#hasMore = true;
    this.#messages = undefined;
    this.#runs = undefined;
    return undefined;
  }

  async #readPage(): Promise<void> {
    const page = this.#after === undefined ? { limit: PAGE } : { limit: PAGE, after: this.#after };
    const { items, next } = await this.#store.events.list(this.#scope, page);
    this.#hasMore = next !== undefined;
    if (items.length === 0) return;
    const ids = this.#expectMessages(items);
    if (ids.length > 0)
      for (const { message } of await this.#store.messages.load(this.#threadId, ids)) this.#messages?.set(message.id, message);
    for (const event of items) {
      const { last } = this.#open ?? {};
      if (last !== undefined && (beginsCommit(last, event) || this.#after === this.#cutAt)) this.#endOpen();
      const { messageSeq } = event.payload;
      if (event.kind === "message-committed" && typeof messageSeq === "number") this.#lastSeq = messageSeq;
      this.#open ??= { events: [], last: event, lastSeq: undefined };
      this.#open.events.push(event);
      this.#open.last = event;
      this.#open.lastSeq = this.#lastSeq;
      this.#after = this.#cursorOf(event);
    }
  }

  #endOpen(): void {
    if (this.#open !== undefined) this.#gathered.push(this.#open);
    this.#open = undefined;
  }

  /** Those that the page refers to, beside those of a commit that began before it, which are kept. */
  #expectMessages(items: readonly StoredEvent[]): readonly MessageId[] {
    const messages = new Map<string, Message>();
    for (const event of this.#open?.events ?? NOTHING)
      for (const id of messagesOfFact(event)) {
        const kept = this.#messages?.get(id);
        if (kept !== undefined) messages.set(id, kept);
      }
    this.#messages = messages;
    const ids = new Set<MessageId>();
    for (const event of items) for (const id of messagesOfFact(event)) ids.add(messageId(id));
    return [...ids];
  }

  #cursorOf({ cursors, eventId }: StoredEvent): EventCursor {
    const cursor = cursors[this.#scope.type];
    if (cursor !== undefined) return cursor;
    throw new AwakenError("data_integrity", `event '${eventId}' has no cursor in its own log`);
  }

  #commitOf(events: readonly StoredEvent[], cursor: EventCursor, run: RunRecord | undefined, lastWords: string): Commit | Outside {
    if (run === undefined) return { events, cursor, run };
    const messages = this.#messages;
    return { events, cursor, run, message: (id) => messages?.get(id), lastWords };
  }

  /** Text of the newest assistant message of the run that was written by then. */
  async #lastWords(runId: RunId, by: number, lastSeq: number | undefined): Promise<string> {
    let beforeSeq = lastSeq === undefined ? undefined : lastSeq + 1;
    for (;;) {
      const { items, next } = await this.#store.messages.list(this.#threadId, {
        ...{ runId, visibility: "all", order: "descending", limit: 50 },
        ...(beforeSeq === undefined ? undefined : { beforeSeq }),
      });
      const found = items.find(({ message, createdAt }) => message.role === "assistant" && createdAt <= by);
      if (found !== undefined) return messageText(found.message);
      if (next === undefined) return "";
      beforeSeq = next;
    }
  }
}

const isSuspended = (events: readonly StoredEvent[]): boolean =>
  events.some(({ kind, payload }) => kind === "run-suspended" || isWaiting(payload["result"]));

const isWaiting = (result: unknown): boolean =>
  typeof result === "object" && result !== null && "status" in result && result.status === "waiting";
