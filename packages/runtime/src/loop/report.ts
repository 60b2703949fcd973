import type { AgentEvent, RunIdentity, ToolCall, ToolCallProgress } from "@awaken/contract";
import type { ToolContext } from "../tool/tool.ts";
import type { RunContext } from "./run-context.ts";

/** What a running tool tells live listeners, until its call is over: a tool that goes on alone is not heard any more. */
export interface Reporters {
  readonly report: Pick<ToolContext, "progress" | "activity" | "output">;
  close(): void;
}

export function openReporters(ctx: RunContext, call: ToolCall): Reporters {
  let isOpen = true;
  const emit = (event: AgentEvent): void => {
    if (isOpen) ctx.emit(event);
  };
  const close = () => {
    isOpen = false;
  };
  return { report: reporters(ctx.identity, call, emit), close };
}

function reporters(identity: RunIdentity, call: ToolCall, emit: (event: AgentEvent) => void): Reporters["report"] {
  return {
    progress(report) {
      const content = {
        schema: "tool-call-progress.v1",
        nodeId: `tool_call:${call.id}`,
        callId: call.id,
        toolName: call.name,
        status: "running",
        ...report,
        runId: identity.runId,
        threadId: identity.threadId,
        ...(identity.parentRunId === undefined ? {} : { parentRunId: identity.parentRunId }),
        ...(identity.parentToolCallId === undefined ? {} : { parentCallId: identity.parentToolCallId }),
      } satisfies ToolCallProgress;
      emit({ type: "activity-snapshot", messageId: call.id, activityType: "tool-call-progress", content, replace: true });
    },
    activity(activityType, content) {
      emit({ type: "activity-snapshot", messageId: call.id, activityType, content });
    },
    output(delta) {
      emit({ type: "tool-call-stream-delta", toolCallId: call.id, toolName: call.name, delta });
    },
  };
}
