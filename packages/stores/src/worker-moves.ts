import type { RunId } from "@awaken/contract";
import {
  ackDispatch,
  type ClaimedDispatch,
  type DispatchRecord,
  type DispatchStore,
  deadLetterDispatch,
  extendLease,
  type Fence,
  nackDispatch,
  recordResult,
  recordStart,
  releaseDispatch,
  type SupersededDispatch,
  supersedeDispatch,
} from "@awaken/contract/store";
import { fenceLost } from "./fence-errors.ts";
import { entry } from "./ports.ts";

export type Move<T extends DispatchRecord> = (claimed: ClaimedDispatch, now: number) => T;

/** How one engine gets at the row of a fence. */
export interface ClaimRows {
  /** Moves the row when the fence holds. A stale one is superseded instead, and that stays written. */
  moveHeld<T extends DispatchRecord>(fence: Fence, move: Move<T>): Promise<T | "lost" | "stale">;
  /** As `moveHeld`, for a stale fence too. */
  moveOwn<T extends DispatchRecord>(fence: Fence, move: Move<T>): Promise<T | undefined>;
  hasWishes(runId: RunId): Promise<boolean>;
}

type WorkerMove = "extendLease" | "recordStart" | "recordResult" | "ack" | "nack" | "deadLetter" | "release" | "supersedeClaimed";

/** What the holder of a claim may do, on every engine. */
export function workerMoves(rows: ClaimRows): Pick<DispatchStore, WorkerMove> {
  async function move<T extends DispatchRecord>(fence: Fence, move: Move<T>): Promise<T> {
    const moved = await rows.moveHeld(fence, move);
    if (moved === "lost" || moved === "stale") throw fenceLost(fence.dispatchId, moved);
    return moved;
  }

  return {
    async extendLease(fence, leaseMs) {
      const held = await rows.moveHeld(fence, (claimed, now) => extendLease(claimed, leaseMs, now));
      return held === "lost" || held === "stale" ? undefined : { hasWishes: await rows.hasWishes(held.runId) };
    },

    async recordStart(fence, instanceId) {
      await move(fence, (claimed, now) => recordStart(claimed, instanceId, now));
    },

    async recordResult(fence, result) {
      await move(fence, (claimed, now) => recordResult(claimed, result, now));
    },

    async ack(fence) {
      await move(fence, ackDispatch);
    },

    nack: (fence, failure) => move(fence, (claimed, now) => nackDispatch(claimed, { ...failure, now })),

    deadLetter: (fence, error) => move(fence, (claimed, now) => deadLetterDispatch(claimed, error, now)),

    release: (fence, delayMs) => move(fence, (claimed, now) => releaseDispatch(claimed, now, delayMs)),

    supersedeClaimed: (fence, reason) => rows.moveOwn(fence, (claimed, now): SupersededDispatch => supersedeDispatch(claimed, reason, now)),
  };
}

/** Why a dispatch of an older epoch is superseded. */
export const INTERRUPTED = "interrupted";

/** What moves a dispatch is read as it was when it was asked for, fences too. Apart from the other ports: most programs with a store in memory move none. */
export const dispatchEntries = (port: DispatchStore): DispatchStore => ({
  ...port,
  enqueue: entry(port.enqueue),
  claim: entry(port.claim),
  claimDispatch: entry(port.claimDispatch),
  extendLease: entry(port.extendLease),
  recordStart: entry(port.recordStart),
  recordResult: entry(port.recordResult),
  ack: entry(port.ack),
  nack: entry(port.nack),
  deadLetter: entry(port.deadLetter),
  release: entry(port.release),
  supersedeClaimed: entry(port.supersedeClaimed),
  hint: entry(port.hint),
});
