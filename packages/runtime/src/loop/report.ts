import { copyJson, type JsonValue, type RunIdentity, type ToolCall, type ToolCallProgress } from "@awaken/contract";
import type { ProgressReport, ToolContext } from "../tool/tool.ts";
import type { RunContext } from "./run-context.ts";
import type { CallReport } from "./step-progress.ts";

function progressOf(identity: RunIdentity, call: ToolCall, report: ProgressReport) {
  return {
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
}

/** What a running tool tells live listeners, until its call is over: a tool that goes on alone is not heard any more. */
export class Reporter implements Pick<ToolContext, "progress" | "activity" | "output"> {
  /** Undefined when it is closed: a tool may keep its context for long, and should not keep the run with it. */
  #ctx: RunContext | undefined;
  readonly #call: ToolCall;

  constructor(ctx: RunContext, call: ToolCall) {
    this.#ctx = ctx;
    this.#call = call;
  }

  close(): void {
    this.#ctx = undefined;
  }

  // A tool takes these out of its context and calls them alone.
  readonly progress = (report: ProgressReport): void => {
    if (this.#ctx === undefined) return;
    const content = progressOf(this.#ctx.identity, this.#call, report);
    this.#report({ type: "activity-snapshot", messageId: this.#call.id, activityType: "tool-call-progress", content, replace: true });
  };

  readonly activity = (activityType: string, content: JsonValue): void => {
    this.#report({ type: "activity-snapshot", messageId: this.#call.id, activityType, content: copyJson(content) });
  };

  readonly output = (delta: string): void => {
    this.#ctx?.emit({ type: "tool-call-stream-delta", toolCallId: this.#call.id, toolName: this.#call.name, delta });
  };

  #report(event: CallReport): void {
    this.#ctx?.progress.report(event);
    this.#ctx?.emit(event);
  }
}
