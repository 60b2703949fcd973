import type { Attributes } from "@opentelemetry/api";
import type { InferenceEvent, RunEvent, TelemetryEvent, ToolEvent } from "../events.ts";

/** Something that is known whole when it is told. */
export interface InstantSpan {
  readonly name: string;
  readonly attributes: Attributes;
  /** Unix milliseconds. */
  readonly startTime: number;
  readonly endTime: number;
  /** It is no span of its own but an event on the span that it belongs to. */
  readonly isEvent: boolean;
  readonly errorType: string | undefined;
}

function known(all: { readonly [name: string]: Attributes[string] }): Attributes {
  return Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined));
}

type Instant = Exclude<TelemetryEvent, InferenceEvent | ToolEvent | RunEvent>;

/** It ends now and lasted so long. */
const ending = (at: number, durationMs = 0) => ({ startTime: at - durationMs, endTime: at, isEvent: false, errorType: undefined });

function taskSpan(event: Extract<Instant, { type: "background-task" }>): InstantSpan {
  return {
    name: "awaken.background_task",
    startTime: event.createdAt,
    endTime: event.completedAt ?? event.createdAt,
    isEvent: false,
    errorType: event.status === "failed" ? "background_task_failed" : undefined,
    attributes: known({
      "awaken.background_task.id": event.taskId,
      "awaken.background_task.type": event.taskType,
      "awaken.background_task.status": event.status,
      "awaken.background_task.name": event.taskName,
      "awaken.background_task.parent_run_id": event.context.runId,
      "awaken.parent_task.id": event.parentTaskId,
    }),
  };
}

export function instantSpan(event: Instant): InstantSpan {
  switch (event.type) {
    case "suspension":
      return {
        ...ending(event.at, event.durationMs),
        name: "awaken.suspension",
        attributes: known({
          "gen_ai.tool.name": event.toolName,
          "gen_ai.tool.call.id": event.toolCallId,
          "awaken.suspension.action": event.action,
          "awaken.suspension.resume_mode": event.resumeMode,
          "awaken.suspension.duration": event.durationMs,
        }),
      };
    case "handoff":
      return {
        ...ending(event.at),
        name: "awaken.handoff",
        attributes: known({ "awaken.handoff.from_agent_id": event.fromAgentId, "awaken.handoff.to_agent_id": event.toAgentId }),
      };
    case "delegation":
      return {
        ...ending(event.at, event.durationMs),
        name: "awaken.delegation",
        errorType: event.errorType,
        attributes: known({
          "awaken.delegation.parent_run_id": event.context.runId,
          "awaken.delegation.target_agent_id": event.targetAgentId,
          "awaken.delegation.child_run_id": event.childRunId,
          "awaken.delegation.success": event.success,
          "awaken.delegation.duration": event.durationMs,
          "gen_ai.tool.call.id": event.toolCallId,
        }),
      };
    case "evaluation-result":
      return {
        ...ending(event.at),
        isEvent: true,
        name: "gen_ai.evaluation.result",
        attributes: known({
          "gen_ai.evaluation.name": event.name,
          "gen_ai.evaluation.score.label": event.scoreLabel,
          "gen_ai.evaluation.score.value": event.scoreValue,
          "gen_ai.evaluation.explanation": event.explanation,
          "gen_ai.response.id": event.responseId,
          "error.type": event.errorType,
        }),
      };
    case "background-task":
      return taskSpan(event);
  }
}
