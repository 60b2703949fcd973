import {
  addAgentUsage,
  type BackendResult,
  type BackendStatus,
  type ChildRun,
  concludeRecord,
  type DoneRun,
  freezeJson,
  NO_USAGE,
  type PersistedState,
  statusOfTermination,
  type Usage,
} from "@awaken/contract";
import type { ChildEnd } from "../loop/children.ts";
import type { LoopResult } from "../loop/finish.ts";
import { usageOfFamily } from "./family-usage.ts";
import type { RunParts } from "./run-parts.ts";
import { sumOf } from "./run-result.ts";

/** What a run that waits has to say to whoever asked it. */
export function waitingStatus(reason: LoopResult["waitingReason"]): BackendStatus {
  if (reason === "input-required") return { type: "waiting-input" };
  return reason === "auth-required" ? { type: "waiting-auth" } : { type: "suspended" };
}

/** What the parent's call is told while its child is not over. */
export const openResult = (child: ChildRun, steps: number): BackendResult => ({
  agentId: child.agentId,
  status: { type: "suspended" },
  termination: { type: "suspended" },
  output: { artifacts: [] },
  steps,
  runId: child.runId,
});

export const cancelledResult = (agentId: string): BackendResult => ({
  agentId,
  status: { type: "cancelled" },
  termination: { type: "cancelled" },
  output: { artifacts: [] },
  steps: 0,
});

/** What is told of a run that has no record here; undefined while it waits. */
export function remoteEnding({ status, termination, output, response = "", usage = NO_USAGE }: BackendResult): ChildEnd["ending"] {
  const said = { response: output.text ?? response };
  switch (status.type) {
    case "completed":
      return { outcome: { ...said, status: "done" }, usage };
    case "cancelled":
      return { outcome: { ...said, status: "cancelled" }, usage };
    case "timeout":
      return { outcome: { ...said, status: "stopped", limit: "timeout", detail: "the agent did not answer in time" }, usage };
    case "failed":
      return {
        outcome: {
          ...said,
          status: "failed",
          error: { code: termination.type === "error" ? (termination.code ?? "remote_failed") : "remote_failed", message: status.message },
        },
        usage,
      };
    default:
      return undefined;
  }
}

type Ended = Omit<ChildEnd, "isDurable" | "unrecorded" | "recorded">;

/** What became of a run that is over, from its records. */
export async function endOf(parts: Pick<RunParts, "records" | "log">, run: DoneRun): Promise<Ended> {
  const usage = await usageOfFamily(parts, run);
  return endFrom(run, usage, (await parts.records.threads.loadHead(run.threadId))?.state);
}

/** The same of one that ended here just now: what was written says it all, and nobody is asked. */
export async function endHere(
  parts: Pick<RunParts, "records" | "log">,
  { usageByAgent, recordedBelow }: LoopResult,
  { run, threadState }: { readonly run: DoneRun; readonly threadState: PersistedState | undefined },
): Promise<Ended & Pick<ChildEnd, "recorded">> {
  // They are the store's by now, and the caller is the code of others.
  for (const shared of [run.state, threadState, run.outcome.output]) freezeJson(shared);
  const recorded = recordedBelow === undefined ? undefined : addAgentUsage(usageByAgent, recordedBelow);
  const usage = recorded === undefined ? await usageOfFamily(parts, run) : sumOf(recorded);
  return { ...endFrom(run, usage, threadState), recorded };
}

function endFrom(run: DoneRun, usage: Usage, threadState: PersistedState | undefined): Ended {
  const { runId: id, threadId: thread, agentId, steps, activation } = run;
  const { termination, ...outcome } = concludeRecord(run);
  const { response, output } = run.outcome;
  const text = response === "" ? undefined : { text: response };
  const { agentPath = [agentId], parentToolCallId } = activation.trace;
  return {
    child: {
      runId: id,
      threadId: thread,
      agentId,
      agentPath,
      ...(parentToolCallId === undefined ? undefined : { toolCallId: parentToolCallId }),
    },
    result: {
      agentId,
      status: statusOfTermination(termination),
      termination,
      ...(response === "" ? undefined : { response }),
      output: { ...text, artifacts: [], ...(output === undefined ? undefined : { raw: output }) },
      steps,
      usage,
      runId: id,
      ...(run.state === undefined ? undefined : { state: run.state }),
      ...(threadState === undefined ? undefined : { threadState }),
    },
    ending: { outcome: { ...outcome, response, ...(output === undefined ? undefined : { output }) }, usage },
  };
}
