import type { RunIdentity } from "./identity.ts";
import type { RunProjection } from "./run.ts";

export function runIdentity(run: RunProjection): RunIdentity {
  const { threadId, runId, agentId, parentRunId, rootRunId, dispatchId, sessionId, traceParent } = run;
  return {
    threadId,
    runId,
    agentId,
    ...run.activation.trace,
    ...(parentRunId === undefined ? undefined : { parentRunId }),
    ...(rootRunId === undefined ? undefined : { rootRunId }),
    ...(dispatchId === undefined ? undefined : { dispatchId }),
    ...(sessionId === undefined ? undefined : { sessionId }),
    ...(traceParent === undefined ? undefined : { traceParent }),
  };
}
