import { AwakenError, type DispatchId } from "@awaken/contract";

/** Why a fence does not hold. */
export function fenceLost(dispatchId: DispatchId, claim: "lost" | "stale"): AwakenError {
  return new AwakenError("fence_lost", `the claim on dispatch '${dispatchId}' is ${claim}`, { details: { dispatchId, claim } });
}

/** While a dispatch is claimed, only its holder writes. */
export const fenceMissing = (threadId: string): AwakenError =>
  new AwakenError("fence_lost", `a dispatch of thread '${threadId}' is claimed, and the commit does not show its fence`, {
    details: { threadId },
  });
