import {
  type BackendResult,
  type BackendStatus,
  type ChildRun,
  concludeRecord,
  NO_USAGE,
  type RunRecord,
  type SettledRun,
  statusOfTermination,
} from "@awaken/contract";
import type { ChildEnd } from "../loop/children.ts";
import type { LoopResult } from "../loop/finish.ts";
import { usageOfFamily } from "./family-usage.ts";
import type { RunParts } from "./run-parts.ts";

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

/** What became of a run that is over, from its records. */
export async function endOf(
  parts: Pick<RunParts, "records" | "log">,
  run: SettledRun & RunRecord,
): Promise<Omit<ChildEnd, "isDurable" | "unrecorded">> {
  const { records } = parts;
  const { runId: id, threadId: thread, agentId, steps, activation } = run;
  const usage = await usageOfFamily(parts, run);
  const { termination, ...outcome } = concludeRecord(run);
  const response = run.status === "done" ? run.outcome.response : "";
  const output = run.status === "done" ? run.outcome.output : undefined;
  const threadState = (await records.threads.loadHead(thread))?.state;
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
