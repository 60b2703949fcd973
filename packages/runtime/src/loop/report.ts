import type { ToolCall, ToolCallProgress } from "@awaken/contract";
import type { ToolContext } from "../tool/tool.ts";
import type { RunContext } from "./run-context.ts";

type Reporters = Pick<ToolContext, "progress" | "activity" | "output">;

/** What a running tool tells live listeners. */
export function reporters(ctx: RunContext, call: ToolCall): Reporters {
  const { identity } = ctx;
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
      ctx.emit({ type: "activity-snapshot", messageId: call.id, activityType: "tool-call-progress", content, replace: true });
    },
    activity(activityType, content) {
      ctx.emit({ type: "activity-snapshot", messageId: call.id, activityType, content });
    },
    output(delta) {
      ctx.emit({ type: "tool-call-stream-delta", toolCallId: call.id, toolName: call.name, delta });
    },
  };
}
