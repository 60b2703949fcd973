import {
  type CreatedRun,
  type DispatchId,
  type JsonObject,
  NO_USAGE,
  RUN_SCHEMA_VERSION,
  type RunActivation,
  type RunIdentity,
  type RunInput,
} from "@awaken/contract";

/** What a run is put down for later with. */
export interface CreatedInit {
  readonly identity: RunIdentity;
  readonly principal: JsonObject | undefined;
  readonly activation: RunActivation;
  readonly input: RunInput;
  readonly dispatchId: DispatchId;
  readonly now: number;
}

/** The record of a run that nobody has begun: the one spelling of it, whoever puts it down. */
export function createdRecord({ identity, principal, activation, input, dispatchId, now }: CreatedInit): CreatedRun {
  const { runId, threadId, agentId, parentRunId, rootRunId, sessionId, traceParent } = identity;
  return {
    ...{ schemaVersion: RUN_SCHEMA_VERSION, status: "created", runId, threadId, agentId, activation, input, dispatchId },
    ...(parentRunId === undefined ? undefined : { parentRunId }),
    ...(rootRunId === undefined ? undefined : { rootRunId }),
    ...(principal === undefined ? undefined : { principal }),
    ...(sessionId === undefined ? undefined : { sessionId }),
    ...(traceParent === undefined ? undefined : { traceParent }),
    ...{ createdAt: now, updatedAt: now, steps: 0, usage: NO_USAGE, decided: [] },
  };
}
