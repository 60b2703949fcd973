import type { RunRecord } from "@awaken/contract";
import type { Outbound } from "@awaken/contract/store";
import { composeEnd, type EndCommit, type RecordEnding } from "../commit/ended-record.ts";
import type { Holding } from "../commit/holding.ts";
import { endAbandoned, type Looking, openBelow } from "./abandoned.ts";
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

/** Ends one that was tried for the last time, with what it has begun. */
export async function endDeadRecord(looking: Looking, run: RunRecord, message: string, now: number): Promise<EndedCommit> {
  const below = run.status === "created" ? NOTHING : await openBelow(looking, run.runId);
  return endRecord(run, { type: "error", code: "dead_letter", message }, now, endAbandoned(below));
}

/** For whoever ends a run on its thread without a dispatch: others hear of it as of any end. */
export async function endingOf(looking: Looking, { runId: id }: RunRecord): Promise<Holding> {
  const abandons = endAbandoned(await openBelow(looking, id));
  return {
    hasMail: false,
    waiting: () => NOTHING,
    riders: ({ run }) => {
      const outbound = run === undefined ? NOTHING : [...parentWake(run), ...abandons];
      return outbound.length === 0 ? {} : { outbound };
    },
    landed: () => undefined,
  };
}
