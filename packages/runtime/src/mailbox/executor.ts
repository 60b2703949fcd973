import type { Log } from "@awaken/contract";
import type { ClaimedDispatch, Fence } from "@awaken/contract/store";
import type { RunParts } from "../run/run-parts.ts";
import type { Clock } from "../stream/clock.ts";
import type { Ids } from "../stream/ids.ts";
import type { Unknowns } from "./attempts.ts";
import type { HoldInit } from "./hold.ts";
import type { Ask, TenantQueue } from "./tenant-queue.ts";
import type { Watchers } from "./watchers.ts";

/** What executes dispatches of one tenant. */
export interface Executor {
  readonly queue: TenantQueue;
  readonly parts: RunParts;
  readonly holdInit: HoldInit;
  readonly ask: Ask;
  readonly clock: Clock;
  readonly log: Log;
  readonly ids: Ids;
  readonly watchers: Watchers;
  readonly unknowns: Unknowns;
}

export const fenceOf = ({ dispatchId: id, claimToken }: ClaimedDispatch): Fence => ({ dispatchId: id, claimToken });

/** What becomes of a claimed dispatch when this process has done what it can. */
export type Fate =
  /** Its run is done or waits, or it is back in the queue, or a dead letter. */
  | "settled"
  /** A node that knows more than this one is to take it. */
  | "left"
  /** Another one of its thread was asked for without an answer: it may be claimed, and nobody knows. */
  | "unanswered";
