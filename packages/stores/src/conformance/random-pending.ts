import type { Message, MessageId, RunId, ThreadId } from "@awaken/contract";
import {
  type Boundary,
  type DeliveryMode,
  type NewPending,
  type PendingStore,
  type QueuePorts,
  type StorePorts,
  selectPending,
  type ThreadCommit,
} from "@awaken/contract/store";
import type { Chance, Names } from "./random-names.ts";
import { user } from "./records.ts";

export type Ports = StorePorts & QueuePorts;
/** A call that every engine is asked for, with names that are known to all. */
export type Call = (ports: Ports, names: Names) => Promise<unknown>;

const BOUNDARIES: readonly [Boundary, ...Boundary[]] = ["new-run", "interrupt", "next-step", "on-natural-end", "resume-input"];

/** What a commit does to the queue of its thread, and the messages that it takes out of it. */
export interface RandomChange {
  readonly change: ThreadCommit["pending"];
  readonly taken: readonly Message[];
}

export const NO_CHANGE: RandomChange = { change: undefined, taken: [] };

interface RandomIds {
  readonly message: () => MessageId;
  readonly run: () => RunId;
}

/** Messages that wait, at random. */
export class RandomPending {
  readonly #chance: Chance;
  /** What a writer would have read first. */
  readonly #seen: () => PendingStore;
  readonly #ids: RandomIds;

  constructor(chance: Chance, seen: () => PendingStore, ids: RandomIds) {
    this.#chance = chance;
    this.#seen = seen;
    this.#ids = ids;
  }

  message(): NewPending {
    return this.#chance.is(0.4)
      ? { message: user(this.#ids.message()) }
      : { message: user(this.#ids.message()), deliveryMode: this.#mode() };
  }

  #mode(): Partial<DeliveryMode> {
    const chance = this.#chance;
    return {
      boundary: chance.of(BOUNDARIES),
      granularity: chance.of(["one", "batch", "batch"]),
      ...(chance.is(0.2) && { barrier: true }),
      ...(chance.is(0.3) && { targetRunId: this.#ids.run(), fallbackToNewRun: chance.is(0.5) }),
    };
  }

  async change(thread: ThreadId, run: RunId): Promise<RandomChange> {
    const chance = this.#chance;
    if (chance.is(0.4)) return { change: { append: [this.message()] }, taken: [] };
    const boundary = chance.of(BOUNDARIES);
    const entries = selectPending((await this.#seen().load(thread)).entries, boundary, run);
    const late = chance.is(0.1) ? 1 : 0;
    return {
      change: { consume: { boundary, entries: entries.map(({ pendingId, revision }) => ({ pendingId, revision: revision + late })) } },
      taken: entries.map(({ message }) => message),
    };
  }

  async next(thread: ThreadId): Promise<Call> {
    const chance = this.#chance;
    const { entries, revision } = await this.#seen().load(thread);
    const entry = entries[chance.below(entries.length)];
    const [added, mode, limit] = [Array.from({ length: 1 + chance.below(2) }, () => this.message()), this.#mode(), 1 + chance.below(4)];
    const calls: readonly [Call, ...Call[]] = [
      ({ pending }) => pending.append(thread, added),
      ({ pending }) => pending.append(thread, added),
      ({ pending }) => pending.load(thread),
      ({ pending }) => pending.listUnattended(limit),
      ({ pending }) => pending.reorder(thread, entries.map(({ pendingId }) => pendingId).toReversed(), revision),
    ];
    if (entry === undefined || chance.is(0.6)) return chance.of(calls);
    const { pendingId } = entry;
    const at = chance.is(0.9) ? entry.revision : entry.revision + 1;
    const edits: readonly [Call, ...Call[]] = [
      ({ pending }) => pending.update(thread, pendingId, { revision: at, message: user(pendingId, "edited") }),
      ({ pending }) => pending.update(thread, pendingId, { revision: at, deliveryMode: mode }),
      ({ pending }) => pending.retract(thread, pendingId, at),
    ];
    return chance.of(edits);
  }
}
