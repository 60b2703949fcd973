import type { RunId, RunProjection, RunRecord } from "@awaken/contract";

/** A run that a call of another one waits for. */
export type CalledRun<R extends RunProjection = RunRecord> = R & { readonly parentRunId: RunId };

export function isCalled<R extends RunProjection>(run: R): run is CalledRun<R> {
  const { agentPath, parentToolCallId } = run.activation.trace;
  return run.parentRunId !== undefined && agentPath !== undefined && parentToolCallId !== undefined;
}

/** The run that waited for this one is over: nobody waits for it any more. */
export async function isOrphan(run: RunRecord, load: (id: RunId) => Promise<RunRecord | undefined>): Promise<boolean> {
  if (!isCalled(run)) return false;
  const parent = await load(run.parentRunId);
  return parent === undefined || parent.status === "done";
}
