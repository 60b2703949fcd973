import {
  type DispatchId,
  dispatchId,
  type MessageId,
  messageId,
  type RunId,
  runId,
  type ThreadId,
  threadId,
  ticketId,
} from "@awaken/contract";
import {
  DISPATCH_STATUSES,
  type DispatchPosition,
  type EventAppend,
  type EventCursor,
  type EventScope,
  eventCursor,
  type Fence,
  type Page,
  type RunPosition,
  type ThreadCommit,
  type ThreadPosition,
} from "@awaken/contract/store";
import type { Chance, Names, Pool } from "./random-names.ts";
import { type Call, NO_CHANGE, type Ports, RandomPending } from "./random-pending.ts";
import { ACKED, ACTIVATION, awaitingTasks, runs, ticket, user } from "./records.ts";

const RUN_STATUSES = ["created", "running", "waiting", "done"] as const;
const VISIBILITIES = ["public", "internal", "audit", "sensitive"] as const;

async function allPages<T, P extends object | string>(list: (after?: P) => Promise<Page<T, P>>): Promise<readonly (readonly T[])[]> {
  const pages: (readonly T[])[] = [];
  for (let after: P | undefined; pages.length < 2_000; ) {
    const { items, next } = await list(after);
    pages.push(items);
    if (next === undefined) return pages;
    after = next;
  }
  throw new Error("a list without an end");
}

/** Random calls, the same ones for every engine. */
export class RandomCalls {
  readonly #chance: Chance;
  readonly #pool: Pool;
  /** The ports that are asked what a writer would have read first. */
  readonly #seen: () => Ports;
  readonly #pending: RandomPending;
  #tick = 1;
  #key = 0;

  constructor(chance: Chance, pool: Pool, seen: () => Ports) {
    this.#chance = chance;
    this.#pool = pool;
    this.#seen = seen;
    this.#pending = new RandomPending(chance, () => seen().pending, { message: this.#message, run: this.#run });
  }

  async next(): Promise<Call> {
    const chance = this.#chance;
    const kind = chance.next();
    if (kind < 0.34) return this.#commit();
    if (kind < 0.42) return this.#append();
    if (kind < 0.56) return this.#queueMove();
    if (kind < 0.64) return this.#threadWrite();
    if (kind < 0.68) return this.#wish();
    if (kind < 0.76) return this.#pending.next(this.#thread());
    return this.#read();
  }

  #thread = (): ThreadId => threadId(`t${this.#chance.below(5)}`);
  #run = (): RunId => runId(`r${this.#chance.below(6)}`);
  #dispatch = (): DispatchId => dispatchId(`d${this.#chance.below(12)}`);
  #limit = () => (this.#chance.is(0.3) ? {} : { limit: 1 + this.#chance.below(7) });
  #message = (): MessageId => messageId(`m${this.#key++}`);

  #fence(names: Names, fence: Fence): Fence {
    return { dispatchId: dispatchId(names.real(fence.dispatchId)), claimToken: names.real(fence.claimToken) };
  }

  #pickFence(): Fence | undefined {
    const { fences } = this.#pool;
    return this.#chance.is(0.7) ? fences[0] : fences[this.#chance.below(fences.length)];
  }

  #events(thread: ThreadId, run: RunId): readonly EventAppend[] {
    const chance = this.#chance;
    return Array.from({ length: chance.below(4) }, () => {
      const own = chance.is(0.7);
      const [threadOf, runOf] = [own ? thread : this.#thread(), own ? run : this.#run()];
      const target = chance.of([
        { threadId: threadOf, runId: runOf },
        { threadId: threadOf, runId: runOf },
        { threadId: threadOf },
        { runId: runOf },
      ]);
      const body = {
        schemaVersion: 1,
        kind: "e",
        payload: { n: chance.below(3) },
        visibility: chance.of(VISIBILITIES),
        origin: "loop",
      } as const;
      const idempotency = chance.is(0.1) ? { idempotency: { writerId: "w", key: `k${chance.below(10)}` } } : {};
      return { draft: { ...body, ...target }, ...idempotency };
    });
  }

  #append(): Call {
    const events = this.#events(this.#thread(), this.#run());
    return ({ events: port }) => port.append(events);
  }

  async #commit(): Promise<Call> {
    const chance = this.#chance;
    const fence = chance.is(0.5) ? this.#pickFence() : undefined;
    const held = fence && (await this.#heldRun(fence));
    const [thread, run] = [held?.threadId ?? this.#thread(), held?.runId ?? this.#run()];
    const before = await this.#seen().messages.count(thread);
    const updatedAt = ++this.#tick;
    const fields = { runId: run, threadId: thread, updatedAt, steps: chance.below(5), activation: ACTIVATION };
    const waits = [ticket(`tk${run}`, { runId: run, threadId: thread, id: ticketId(`tk${run}`) })];
    const parked = chance.is(0.3) ? awaitingTasks(fields) : runs.waiting(fields, waits);
    const record = chance.of([runs.running(fields), runs.running(fields), parked, runs.done(fields)]);
    const { change: pending, taken } = chance.is(0.25) ? await this.#pending.change(thread, run) : NO_CHANGE;
    const messages = [...taken, ...Array.from({ length: chance.below(3) }, () => user(this.#message()))];
    const other = { dispatchId: this.#dispatch(), threadId: thread, runId: run };
    const dispatch: readonly ThreadCommit["dispatch"][] = [
      { type: "enqueue", dispatch: other },
      { type: "enqueue-claimed", dispatch: other, claim: { consumer: "node-1", leaseMs: 30_000 } },
      { type: "ack", result: ACKED },
      { type: "dead-letter", error: "no" },
    ];
    const change = chance.is(0.25) ? dispatch[fence === undefined ? chance.below(2) : 2 + chance.below(2)] : undefined;
    const open = chance.is(0.3) ? await this.#seen().wishes.listOpen(run) : [];
    const outbound = chance.is(0.1)
      ? [
          {
            id: `o${chance.below(20)}`,
            threadId: this.#thread(),
            events: this.#events(this.#thread(), this.#run()),
            dispatch: { dispatchId: this.#dispatch(), threadId: thread, runId: run },
            ...(chance.is(0.3) && { pending: [this.#pending.message()] }),
            ...(chance.is(0.3) && { forRun: this.#run() }),
          },
        ]
      : [];
    const commit: ThreadCommit = {
      threadId: thread,
      runId: run,
      ...(messages.length > 0 && { messageDelta: { messages, expectedMessageCount: chance.is(0.95) ? before : before + 1 } }),
      ...(chance.is(0.8) && { run: record }),
      events: this.#events(thread, run),
      ...(change && { dispatch: change }),
      ...(pending && { pending }),
      ...(open.length > 0 && { takes: open.map(({ wishId }) => wishId) }),
      ...(outbound.length > 0 && {
        outbound: outbound.map((each) => ({ ...each, dispatch: { ...each.dispatch, threadId: each.threadId } })),
      }),
    };
    return async ({ commit: port }, names) => {
      const result = await port(fence === undefined ? commit : { ...commit, fence: this.#fence(names, fence) });
      // An engine may make them when they are asked for.
      const { messageCount, run, events, dispatch, hasWishes, hasPending, next } = result;
      return { messageCount, run, events, dispatch, hasWishes, hasPending, next };
    };
  }

  async #heldRun({ dispatchId: id }: Fence) {
    return this.#chance.is(0.9) ? this.#seen().dispatches.load(id) : undefined;
  }

  #queueMove(): Call {
    const chance = this.#chance;
    const [thread, id, run] = [this.#thread(), this.#dispatch(), this.#run()];
    const fence = this.#pickFence();
    const request = { consumer: chance.of(["node-1", "node-2"]), leaseMs: 30_000 };
    const init = {
      dispatchId: id,
      threadId: thread,
      runId: run,
      priority: 100 + chance.below(3),
      maxAttempts: 2,
      ...(chance.is(0.3) && { dedupeKey: "k" }),
    };
    const calls: readonly [Call, ...Call[]] = [
      ({ dispatches }) => dispatches.enqueue(init),
      ({ dispatches }) => dispatches.enqueue(init),
      ({ dispatches }) => dispatches.claim(thread, request),
      ({ dispatches }) => dispatches.claim(thread, request),
      ({ dispatches }) => dispatches.claimDispatch(id, request),
      ({ dispatches }) => dispatches.cancel(id),
      ({ dispatches }) => dispatches.interrupt(thread),
      ({ dispatches }) => dispatches.removeDeadLetter(id),
    ];
    if (fence === undefined || chance.is(0.6)) return chance.of(calls);
    const moves: readonly [Call, ...Call[]] = [
      ({ dispatches }, names) => dispatches.extendLease(this.#fence(names, fence), 60_000),
      ({ dispatches }, names) => dispatches.recordStart(this.#fence(names, fence), "i1"),
      ({ dispatches }, names) => dispatches.ack(this.#fence(names, fence)),
      ({ dispatches }, names) => dispatches.nack(this.#fence(names, fence), { error: "no", delayMs: 10 }),
      ({ dispatches }, names) => dispatches.release(this.#fence(names, fence)),
      ({ dispatches }, names) => dispatches.supersedeClaimed(this.#fence(names, fence), "gone"),
    ];
    return chance.of(moves);
  }

  #threadWrite(): Call {
    const chance = this.#chance;
    const [id, resource] = [this.#thread(), chance.of([undefined, "u1", "u2"])];
    const other = this.#thread();
    const parent = chance.is(0.3) && other !== id ? other : undefined;
    const children = chance.of(["reject", "detach", "cascade"] as const);
    const calls: readonly [Call, ...Call[]] = [
      ({ threads }) => threads.create({ id, ...(resource && { resourceId: resource }), ...(parent && { parentThreadId: parent }) }),
      ({ threads }) => threads.update(id, { resourceId: resource ?? null, ...(parent && { parentThreadId: parent }), title: "x" }),
      ({ threads }) => threads.delete(id, children),
    ];
    return chance.of(calls);
  }

  #wish(): Call {
    const [threadOf, run, key] = [this.#thread(), this.#run(), this.#chance.below(20)];
    return ({ wishes }) => wishes.append({ type: "cancel", threadId: threadOf, runId: run, wishId: `w${key}` }, { resume: true });
  }

  #read(): Call {
    const chance = this.#chance;
    const [thread, run, limit] = [this.#thread(), this.#run(), this.#limit()];
    const scope: EventScope = chance.is(0.4) ? { type: "thread", threadId: thread } : { type: "run", runId: run };
    const visibilities = chance.is(0.2) ? { visibilities: chance.some(VISIBILITIES, 0.5) } : {};
    const from = chance.is(0.6) ? this.#pool.cursors[chance.below(this.#pool.cursors.length)] : undefined;
    const filter = {
      ...(chance.is(0.4) && { resourceId: "u1" }),
      ...(chance.is(0.3) && { lineage: chance.of([{ type: "root" }, { type: "child-of", threadId: thread }] as const) }),
    };
    const statuses = chance.some(DISPATCH_STATUSES, 0.6);
    const runFilter = {
      ...(chance.is(0.5) && { threadId: thread }),
      ...(chance.is(0.4) && { statuses: chance.some(RUN_STATUSES, 0.5) }),
    };
    const calls: readonly [Call, ...Call[]] = [
      ({ events }, names) =>
        allPages((after?: EventCursor) => {
          const start = after ?? (from === undefined ? undefined : eventCursor(names.real(from)));
          return events.list(scope, { ...visibilities, ...limit, ...(start && { after: start }) });
        }),
      async ({ events }) => ({ cursors: { [scope.type]: await events.loadHead(scope) } }),
      ({ threads }) => allPages((after?: ThreadPosition) => threads.list({ ...filter, ...limit, ...(after && { after }) })),
      ({ threads }) => threads.count(filter),
      ({ threads }) => threads.loadHead(thread),
      ({ runs: port }) => allPages((after?: RunPosition) => port.list({ ...runFilter, ...limit, ...(after && { after }) })),
      ({ runs: port }) => port.loadLatest(thread),
      ({ dispatches }) => dispatches.list(thread, limit),
      ({ dispatches }) => allPages((after?: DispatchPosition) => dispatches.listAll({ statuses, ...limit, ...(after && { after }) })),
      ({ wishes }) => wishes.listOpen(run),
      ({ messages }) => messages.list(thread, limit),
    ];
    return chance.is(0.3) ? (calls[0] ?? chance.of(calls)) : chance.of(calls);
  }
}
