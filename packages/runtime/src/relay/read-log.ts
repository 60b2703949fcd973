import { AwakenError, type Message, messageId, messageText, type RunId, type RunRecord, type ThreadId } from "@awaken/contract";
import type { EventCursor, EventScope, StoredEvent } from "@awaken/contract/store";
import { messagesOfFact } from "./read-fact.ts";
import type { RelayStore } from "./relay-store.ts";

const PAGE = 200;

/** What one run put into the log at one moment, with what its facts refer to. */
export interface Commit {
  readonly events: readonly StoredEvent[];
  readonly cursor: EventCursor;
  readonly run: RunRecord;
  message(id: string): Message | undefined;
  /** What the run had said last by then. */
  readonly lastWords: string;
}

/**
 * Messages stand before the facts of their commit, so a commit begins where messages follow facts. Commits without messages are read as
 * part of the one before them: for whoever follows that is the same.
 */
const beginsCommit = (before: StoredEvent, event: StoredEvent): boolean =>
  before.runId !== event.runId || (event.kind === "message-committed" && before.kind !== "message-committed");

export interface LogPlace {
  readonly threadId: ThreadId;
  readonly scope: EventScope;
  readonly after: EventCursor | undefined;
  /** A commit ends here, also when the next one has no messages. */
  readonly cutAt: EventCursor | undefined;
}

/** Reads a log from a position on. */
export class LogReader {
  readonly #store: RelayStore;
  readonly #threadId: ThreadId;
  readonly #scope: EventScope;
  readonly #cutAt: EventCursor | undefined;
  #after: EventCursor | undefined;
  /** The newest message that was read of; undefined before the first. */
  #lastSeq: number | undefined;

  constructor(store: RelayStore, { threadId, scope, after, cutAt }: LogPlace) {
    this.#store = store;
    this.#threadId = threadId;
    this.#scope = scope;
    this.#after = after;
    this.#cutAt = cutAt;
  }

  /** The commits that are there now and were not read before. */
  async *read(): AsyncGenerator<Commit, void, undefined> {
    const runs = new Map<RunId, RunRecord | undefined>();
    let messages = new Map<string, Message>();
    let open: StoredEvent[] = [];
    for (;;) {
      const { items, next } = await this.#store.events.list(this.#scope, {
        limit: PAGE,
        ...(this.#after === undefined ? undefined : { after: this.#after }),
      });
      const kept = open.flatMap(messagesOfFact).flatMap((id) => messages.get(id) ?? []);
      messages = new Map([...kept, ...(await this.#messagesOf(items))].map((message) => [message.id, message]));
      for (const event of items) {
        const last = open.at(-1);
        if (last !== undefined && (beginsCommit(last, event) || this.#after === this.#cutAt)) {
          const commit = await this.#commitOf(open, messages, runs);
          open = [];
          if (commit !== undefined) yield commit;
        }
        open.push(event);
        const { messageSeq } = event.payload;
        if (event.kind === "message-committed" && typeof messageSeq === "number") this.#lastSeq = messageSeq;
        this.#after = this.#cursorOf(event);
      }
      if (next === undefined) break;
    }
    const commit = await this.#commitOf(open, messages, runs);
    if (commit !== undefined) yield commit;
  }

  #cursorOf({ cursors, eventId }: StoredEvent): EventCursor {
    const cursor = cursors[this.#scope.type];
    if (cursor !== undefined) return cursor;
    throw new AwakenError("data_integrity", `event '${eventId}' has no cursor in its own log`);
  }

  async #messagesOf(events: readonly StoredEvent[]): Promise<readonly Message[]> {
    const ids = [...new Set(events.flatMap(messagesOfFact))].map((id) => messageId(id));
    if (ids.length === 0) return [];
    return (await this.#store.messages.load(this.#threadId, ids)).map(({ message }) => message);
  }

  /** Undefined for what no run has written. */
  async #commitOf(
    events: readonly StoredEvent[],
    messages: ReadonlyMap<string, Message>,
    runs: Map<RunId, RunRecord | undefined>,
  ): Promise<Commit | undefined> {
    const last = events.at(-1);
    const runId = last?.runId;
    if (last === undefined || runId === undefined) return undefined;
    if (!runs.has(runId)) runs.set(runId, await this.#store.runs.load(runId));
    const run = runs.get(runId);
    if (run === undefined) return undefined;
    const isSuspended = events.some(({ kind, payload }) => kind === "run-suspended" || isWaiting(payload["result"]));
    return {
      events,
      cursor: this.#cursorOf(last),
      run,
      message: (id) => messages.get(id),
      lastWords: isSuspended ? await this.#lastWords(runId, last.createdAt) : "",
    };
  }

  /** Text of the newest assistant message of the run that was written by then. */
  async #lastWords(runId: RunId, by: number): Promise<string> {
    let beforeSeq = this.#lastSeq === undefined ? undefined : this.#lastSeq + 1;
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

const isWaiting = (result: unknown): boolean =>
  typeof result === "object" && result !== null && "status" in result && result.status === "waiting";
