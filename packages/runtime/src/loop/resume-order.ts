import type { RunRecord } from "@awaken/contract";
import type { AddressedDecision } from "./decisions/addressed-decision.ts";
import type { RunOrder } from "./run-order.ts";

/** Goes on with a run, with nothing new but decisions. */
export function resumeOrder(run: RunRecord, decisions: readonly AddressedDecision[]): RunOrder {
  const { threadId, runId } = run;
  return { threadId, intent: { type: "resume", runId, decisions, seen: run }, input: [], namedMessages: [], trace: {}, options: {} };
}

/** Takes a run up to end it. */
export const endOrder = (run: RunRecord): RunOrder => ({ ...resumeOrder(run, []), isEnding: true });
