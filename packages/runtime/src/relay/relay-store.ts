import type { RunId, ThreadId } from "@awaken/contract";
import type { EventStore, LiveStore, MessageStore, RunStore, ThreadStore } from "@awaken/contract/store";
import type { Bounds } from "../stream/bounds.ts";

/** What followers read of a store. */
export interface RelayStore {
  readonly events: Pick<EventStore, "list" | "loadHead">;
  readonly messages: Pick<MessageStore, "load" | "list">;
  readonly runs: Pick<RunStore, "load" | "listOpenTickets">;
  readonly threads: Pick<ThreadStore, "load">;
  readonly live?: LiveStore;
  /** Of a run that is promised and not on record, the thread that it waits in the queue of. */
  queuedOn?(id: RunId): Promise<ThreadId | undefined>;
}

/** The same, each request within its limit: a follower of a store that does not answer is told so. */
export function boundRelayStore({ events, messages, runs, threads, live, queuedOn }: RelayStore, bounds: Bounds): RelayStore {
  const ask = <T>(what: string, asked: Promise<T>): Promise<T> =>
    bounds.wait(asked, {
      limit: "storeMs",
      onAbort: "leave",
      code: "storage_io",
      name: () => `the store, which was asked to ${what},`,
    });
  return {
    events: {
      list: (scope, query) => ask("list events", events.list(scope, query)),
      loadHead: (scope) => ask("load the newest event", events.loadHead(scope)),
    },
    messages: {
      load: (threadId, ids) => ask("load messages", messages.load(threadId, ids)),
      list: (threadId, query) => ask("list messages", messages.list(threadId, query)),
    },
    runs: {
      load: (id) => ask("load a run", runs.load(id)),
      listOpenTickets: (id) => ask("list open tickets", runs.listOpenTickets(id)),
    },
    threads: { load: (id) => ask("load a thread", threads.load(id)) },
    ...(live === undefined ? undefined : { live }),
    // It is asked for within limits already.
    ...(queuedOn === undefined ? undefined : { queuedOn }),
  };
}
