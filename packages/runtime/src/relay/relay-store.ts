import type { RunId, ThreadId } from "@awaken/contract";
import type { EventStore, LiveStore, MessageStore, RunStore, ThreadStore } from "@awaken/contract/store";
import type { Bounds, Work } from "../stream/bounds.ts";

/** What followers read of a store. */
export interface RelayStore {
  readonly events: Pick<EventStore, "list" | "loadHead">;
  readonly messages: Pick<MessageStore, "load" | "list">;
  readonly runs: Pick<RunStore, "load" | "listOpenTickets">;
  readonly threads: Pick<ThreadStore, "load">;
  readonly live?: LiveStore | undefined;
  /** Of a run that is promised and not on record, the thread that it waits in the queue of. */
  queuedOn?(id: RunId): Promise<ThreadId | undefined>;
}

const askedTo = (what: string): Work => ({
  limit: "storeMs",
  onAbort: "leave",
  code: "storage_io",
  name: () => `the store, which was asked to ${what},`,
});

const LIST_EVENTS = askedTo("list events");
const LOAD_NEWEST = askedTo("load the newest event");
const LOAD_MESSAGES = askedTo("load messages");
const LIST_MESSAGES = askedTo("list messages");
const LOAD_RUN = askedTo("load a run");
const LIST_TICKETS = askedTo("list open tickets");
const LOAD_THREAD = askedTo("load a thread");

/** The same, each request within its limit: a follower of a store that does not answer is told so. */
export function boundRelayStore({ events, messages, runs, threads, live, queuedOn }: RelayStore, bounds: Bounds): RelayStore {
  return {
    events: {
      list: (scope, query) => bounds.wait(events.list(scope, query), LIST_EVENTS),
      loadHead: (scope) => bounds.wait(events.loadHead(scope), LOAD_NEWEST),
    },
    messages: {
      load: (threadId, ids) => bounds.wait(messages.load(threadId, ids), LOAD_MESSAGES),
      list: (threadId, query) => bounds.wait(messages.list(threadId, query), LIST_MESSAGES),
    },
    runs: {
      load: (id) => bounds.wait(runs.load(id), LOAD_RUN),
      listOpenTickets: (id) => bounds.wait(runs.listOpenTickets(id), LIST_TICKETS),
    },
    threads: { load: (id) => bounds.wait(threads.load(id), LOAD_THREAD) },
    live,
    // It is asked for within limits already.
    ...(queuedOn === undefined ? undefined : { queuedOn }),
  };
}
