import type { BackendRequest, BackendResult, BackendStatus, Termination } from "@awaken/contract";
import { answerText, outputArtifacts, type TaskView } from "./task-view.ts";

type End = Pick<BackendResult, "status" | "termination" | "statusReason">;

const NEEDS = {
  "waiting-input": { reason: "input-required", message: "remote agent requires additional input" },
  "waiting-auth": { reason: "auth-required", message: "remote agent requires authentication" },
} as const;

function waits(type: keyof typeof NEEDS, { statusText }: TaskView, role: BackendRequest["role"]): End {
  const { reason, message } = NEEDS[type];
  const asked = statusText === "" && role === "delegate" ? message : statusText;
  const status: BackendStatus = asked === "" ? { type } : { type, message: asked };
  return { status, termination: { type: "suspended" }, statusReason: reason };
}

function fails(message: string): End {
  const termination: Termination = { type: "error", code: "remote_failed", message };
  return { status: { type: "failed", message }, termination };
}

function endOf(view: TaskView, role: BackendRequest["role"]): End {
  switch (view.state) {
    case "TASK_STATE_CANCELED":
      return { status: { type: "cancelled" }, termination: { type: "cancelled" } };
    case "TASK_STATE_FAILED":
      return fails(view.statusText === "" ? "remote agent run failed" : view.statusText);
    case "TASK_STATE_REJECTED":
      return fails(view.statusText === "" ? "remote agent rejected the task" : view.statusText);
    case "TASK_STATE_INPUT_REQUIRED":
      return waits("waiting-input", view, role);
    case "TASK_STATE_AUTH_REQUIRED":
      return waits("waiting-auth", view, role);
    default:
      return { status: { type: "completed" }, termination: { type: "natural-end" } };
  }
}

/** What became of a task that is over. One that asks is shown with its question. */
export function resultOf(view: TaskView, { agentId, role }: BackendRequest): BackendResult {
  const end = endOf(view, role);
  const text = end.termination.type === "suspended" && view.statusText !== "" ? view.statusText : answerText(view);
  const said = text === "" ? undefined : text;
  return {
    agentId,
    ...end,
    ...(said === undefined ? undefined : { response: said }),
    output: { ...(said === undefined ? undefined : { text: said }), artifacts: outputArtifacts(view) },
    steps: 1,
  };
}

const nothing = { output: { artifacts: [] }, steps: 1 };

/** It took longer than it may. */
export const lateResult = ({ agentId }: BackendRequest): BackendResult => ({
  agentId,
  status: { type: "timeout" },
  termination: { type: "stopped", code: "timeout", detail: "the agent did not answer in time" },
  statusReason: "timeout",
  ...nothing,
});

export const cancelledResult = ({ agentId }: BackendRequest): BackendResult => ({
  agentId,
  status: { type: "cancelled" },
  termination: { type: "cancelled" },
  statusReason: "task cancelled by parent run",
  ...nothing,
});
