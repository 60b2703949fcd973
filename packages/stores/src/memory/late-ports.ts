import { asItIsNow, Door } from "@awaken/contract";
import type {
  ConfigKey,
  ConfigStore,
  DispatchStore,
  EventScope,
  EventStart,
  EventStore,
  MessageStore,
  PendingStore,
  ProfileStore,
  StreamCheckpointStore,
  WishStore,
} from "@awaken/contract/store";
import type { RunQueries } from "./run-queries.ts";
import type { Access, ScopedConfigKey } from "./tables.ts";
import type { ThreadQueries } from "./thread-queries.ts";

/*
 * What a run asks for that others have to do with: queues, wishes, lists, what is followed. What answers is loaded in one piece with the
 * first call of it.
 */

export type Room = typeof import("./seldom.ts");

/** `here`: for what nothing in the tables leads to before it is loaded. */
export const seldom = new Door(() => import("./seldom.ts"));

/** A method of a port that is not there yet. */
type Ask<Port> = <Given extends readonly unknown[], T>(
  pick: (port: Port) => (...given: Given) => Promise<T>,
) => (...given: Given) => Promise<T>;

/** `outer`: for what goes on when the call is over. */
type Make<Port> = (room: Room) => (access: Access, outer: Access) => Port;

/** Until the part is there, a call has its place in the line, and what it was given is read as it was then. */
function asking<Port>(access: Access, make: Make<Port>): Ask<Port> {
  let port: Port | undefined;
  return (pick) =>
    (...given) => {
      if (seldom.room !== undefined) {
        port ??= make(seldom.room)(access, access);
        return pick(port)(...given);
      }
      const now = asItIsNow(given);
      return access.transaction(async (inside) => pick(make(await seldom.open())(inside, access))(...now));
    };
}

/** The port itself when the part is there. */
const late =
  <Port>(make: Make<Port>, build: (ask: Ask<Port>) => Port) =>
  (access: Access): Port =>
    seldom.room === undefined ? build(asking(access, make)) : make(seldom.room)(access, access);

export const lateThreads = late<ThreadQueries>(
  (parts) => parts.threadQueries,
  (ask) => ({
    create: ask((port) => port.create),
    update: ask((port) => port.update),
    delete: ask((port) => port.delete),
    list: ask((port) => port.list),
    count: ask((port) => port.count),
  }),
);

export const lateRuns = late<RunQueries>(
  (parts) => parts.runQueries,
  (ask) => ({
    list: ask((port) => port.list),
    count: ask((port) => port.count),
    countByStatus: ask((port) => port.countByStatus),
    loadLatest: ask((port) => port.loadLatest),
    listByTicket: ask((port) => port.listByTicket),
    listOpenTickets: ask((port) => port.listOpenTickets),
  }),
);

export const lateMessages = late<MessageStore>(
  (parts) => parts.messagePort,
  (ask) => ({
    list: ask((port) => port.list),
    count: ask((port) => port.count),
    load: ask((port) => port.load),
  }),
);

export const lateEvents = late<EventStore>(
  (parts) => parts.eventPort,
  (ask) => ({
    append: ask((port) => port.append),
    list: ask((port) => port.list),
    loadHead: ask((port) => port.loadHead),
    subscribe: (scope, from, options) =>
      ask(
        (port) =>
          (...at: readonly [EventScope, EventStart]) =>
            port.subscribe(...at, options),
      )(scope, from),
  }),
);

export const latePending = late<PendingStore>(
  (parts) => parts.pendingPort,
  (ask) => ({
    append: ask((port) => port.append),
    load: ask((port) => port.load),
    update: ask((port) => port.update),
    retract: ask((port) => port.retract),
    reorder: ask((port) => port.reorder),
    listUnattended: ask((port) => port.listUnattended),
  }),
);

export const lateWishes = late<WishStore>(
  (parts) => parts.wishPort,
  (ask) => ({
    append: ask((port) => port.append),
    load: ask((port) => port.load),
    listOpen: ask((port) => port.listOpen),
  }),
);

export const lateDispatches = late<DispatchStore>(
  (parts) => parts.dispatchPort,
  (ask) => ({
    enqueue: ask((port) => port.enqueue),
    claim: ask((port) => port.claim),
    claimDispatch: ask((port) => port.claimDispatch),
    extendLease: ask((port) => port.extendLease),
    recordStart: ask((port) => port.recordStart),
    recordResult: ask((port) => port.recordResult),
    ack: ask((port) => port.ack),
    nack: ask((port) => port.nack),
    deadLetter: ask((port) => port.deadLetter),
    release: ask((port) => port.release),
    cancel: ask((port) => port.cancel),
    interrupt: ask((port) => port.interrupt),
    supersedeClaimed: ask((port) => port.supersedeClaimed),
    load: ask((port) => port.load),
    list: ask((port) => port.list),
    listAll: ask((port) => port.listAll),
    removeDeadLetter: ask((port) => port.removeDeadLetter),
    countByStatus: ask((port) => port.countByStatus),
    hint: ask((port) => port.hint),
  }),
);

export const lateCheckpoints = late<StreamCheckpointStore>(
  (parts) => parts.streamCheckpointPort,
  (ask) => ({
    put: ask((port) => port.put),
    load: ask((port) => port.load),
    delete: ask((port) => port.delete),
  }),
);

export const lateProfiles = late<ProfileStore>(
  (parts) => parts.profilePort,
  (ask) => ({
    load: ask((port) => port.load),
    put: ask((port) => port.put),
    delete: ask((port) => port.delete),
    list: ask((port) => port.list),
    clear: ask((port) => port.clear),
  }),
);

const lateRows = late<Omit<ConfigStore, "watch">>(
  (parts) => parts.configRows,
  (ask) => ({
    load: ask((port) => port.load),
    list: ask((port) => port.list),
    put: ask((port) => port.put),
    delete: ask((port) => port.delete),
  }),
);

export const lateConfig = (access: Access): ConfigStore => {
  const { scopeId, closing, configChanges } = access;
  return {
    ...lateRows(access),
    // Whoever watches is told what changes from here on.
    watch: ({ signal }) => keysOf(configChanges.listen([signal, closing], (change) => change.scopeId === scopeId)),
  };
};

async function* keysOf(changes: AsyncIterable<ScopedConfigKey>): AsyncGenerator<ConfigKey, void, undefined> {
  for await (const { key } of changes) yield key;
}
