import type { RunId, RunRecord } from "@awaken/contract";
import type { Outbound } from "@awaken/contract/store";
import { composeEnd, type EndCommit, type RecordEnding } from "../commit/ended-record.ts";
import type { EndingHolding } from "../run/holds.ts";
import { endAbandoned, type Looking, openBelow } from "./abandoned.ts";
import type { HoldInit } from "./hold.ts";
import { parentWake } from "./parent-wake.ts";

interface EndedCommit extends EndCommit {
  readonly outbound?: readonly Outbound[];
}

const NOTHING: readonly never[] = Object.freeze([]);

/** Ends a run that nobody could execute, or that nobody is to execute any more. Whoever waits for it goes on. */
export function endRecord(run: RunRecord, termination: RecordEnding, now: number, abandons: readonly Outbound[] = NOTHING): EndedCommit {
  const commit = composeEnd(run, termination, now);
  const outbound = [...parentWake(commit.run), ...abandons];
  return outbound.length === 0 ? commit : { ...commit, outbound };
}

/** Whoever ends a run that may have begun others. */
interface Ender extends Looking {
  readonly holdInit: Pick<HoldInit, "stop">;
}

interface DeadEnd {
  readonly commit: EndedCommit;
  /** For when that is on record: runs below that are at work are told to stop. Never rejects. */
  stopBelow(): Promise<void>;
}

async function stopAll({ holdInit }: Ender, runs: readonly RunId[]): Promise<void> {
  await Promise.allSettled(runs.map((id) => holdInit.stop(id)));
}

/** Ends one that was tried for the last time, with what it has begun. */
export async function endDeadRecord(ender: Ender, run: RunRecord, message: string, now: number): Promise<DeadEnd> {
  const below = run.status === "created" ? NOTHING : await openBelow(ender, run.runId);
  return {
    commit: endRecord(run, { type: "error", code: "dead_letter", message }, now, endAbandoned(below)),
    stopBelow: () => stopAll(ender, below),
  };
}

/** For whoever ends a run on its thread without a dispatch: others hear of it as of any end. */
export async function endingOf(ender: Ender, { runId: id }: RunRecord): Promise<EndingHolding> {
  const below = await openBelow(ender, id);
  const abandons = endAbandoned(below);
  return {
    stopBelow: () => stopAll(ender, below),
    hasMail: false,
    waiting: () => NOTHING,
    riders: ({ run }) => {
      const outbound = run === undefined ? NOTHING : [...parentWake(run), ...abandons];
      return outbound.length === 0 ? {} : { outbound };
    },
    landed: () => undefined,
  };
}
