import { DEFAULT_SCOPE, type RunId, type ScopeId, type ThreadId } from "@awaken/contract";
import { DEFAULT_RETENTION } from "@awaken/contract/store";
import { Mailbox } from "./mailbox/mailbox.ts";
import { servesQueue } from "./mailbox/tenant-queue.ts";
import { following } from "./relay/relay-door.ts";
import type { RelayStore } from "./relay/relay-store.ts";
import { Relays } from "./relay/relays.ts";
import { boundRecords, boundStreams } from "./run/bound-records.ts";
import type { RunParts } from "./run/run-parts.ts";
import type { RuntimeStore } from "./run/runtime-store.ts";
import type { Place, PlaceInQueue } from "./runtime-memory.ts";
import { partsIn, type RuntimeBase } from "./runtime-parts.ts";

// What a runtime does with its store, and what those without one do without: loaded in one piece, behind the door of `runtime-late-store.ts`.

const LEASE_MS = 30_000;
const MAX_ATTEMPTS = 5;
const CONCURRENCY = 10;

/** The store of one runtime, with all who use it. */
export interface OpenStore {
  partsOf(scopeId: ScopeId): RunParts;
  /** Each tenant's runs, for whoever follows them. */
  readonly relays: Relays;
  /** Undefined for a store without a queue: its runs live in the process that started them. */
  readonly mailbox: Mailbox | undefined;
}

function openMailbox({ init, node }: RuntimeBase, store: RuntimeStore, parts: () => RunParts): Mailbox | undefined {
  if (!servesQueue(store)) return undefined;
  const { leaseMs = LEASE_MS, maxAttempts = MAX_ATTEMPTS, concurrency = CONCURRENCY } = init;
  const workers = init.workers === true ? "stays" : init.workers !== false;
  const { yieldBefore: before, retention = DEFAULT_RETENTION } = init;
  const yieldBefore = typeof before === "number" ? () => before : before;
  return new Mailbox({
    ...{ store, parts, node, leaseMs, maxAttempts, concurrency, workers, yieldBefore },
    retention: retention || undefined,
  });
}

function placeInQueue(mailbox: Mailbox, scopeId: ScopeId): PlaceInQueue {
  const holds = mailbox.holdsOf(scopeId);
  const keep = async (...news: Parameters<typeof holds.post>) => {
    await holds.post(...news);
  };
  return { holds, post: { keep, wake: () => {} }, sink: (request) => holds.message(request) };
}

function openRelays({ active, clock, ids, bounds, closing }: RuntimeBase, store: RuntimeStore, partsOf: OpenStore["partsOf"]): Relays {
  const storeOf = (scopeId: ScopeId): RelayStore | undefined => {
    const own = scopeId === DEFAULT_SCOPE ? store : store.scoped(scopeId);
    if (own.events === undefined) return undefined;
    const { events, messages, runs, threads, live } = own;
    const queuedOn = async (id: RunId) => {
      const unbegun = await partsOf(scopeId).holds?.unbegun(id);
      return unbegun?.type === "queued" ? unbegun.threadId : undefined;
    };
    return { events, messages, runs, threads, live, queuedOn };
  };
  const expectIn = (scopeId: ScopeId) => {
    const { holds } = partsOf(scopeId);
    return (threadId: ThreadId) => holds?.expectWithin({ threadId, isQueued: false });
  };
  return new Relays({ storeOf, active, bounds, clock, ids, closing, expectIn });
}

export function openStore(base: RuntimeBase, store: RuntimeStore): OpenStore {
  const partsOf = partsIn(base, (scopeId): Place => {
    const own = scopeId === DEFAULT_SCOPE ? store : store.scoped(scopeId);
    const streams = base.init.streamCheckpoints === true ? own.streamCheckpoints : undefined;
    return {
      profiles: () => own.profiles,
      live: own.live,
      follow: async function* (left, until) {
        yield* (await following.open()).followLeft(relays, scopeId, left, until);
      },
      queue: mailbox && placeInQueue(mailbox, scopeId),
      recordsWithin: (bounds) => boundRecords(own, bounds),
      streamsWithin: (bounds) => (streams === undefined ? undefined : boundStreams(streams, bounds)),
    };
  });
  const mailbox = openMailbox(base, store, () => parts);
  const parts = partsOf(DEFAULT_SCOPE);
  const relays = openRelays(base, store, (scopeId) => parts.scoped(scopeId));
  return { partsOf, relays, mailbox };
}
