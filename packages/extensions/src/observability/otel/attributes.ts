import type { Usage } from "@awaken/contract";
import type { Attributes } from "@opentelemetry/api";
import type { InferenceEvent, RunEvent, TelemetryContext, ToolEvent } from "../events.ts";
import type { Beginning } from "../sink.ts";

type Optional = { readonly [name: string]: Attributes[string] };

/** Without what is not known. */
function known(all: Optional): Attributes {
  const attributes: Attributes = {};
  for (const [name, value] of Object.entries(all)) if (value !== undefined) attributes[name] = value;
  return attributes;
}

export function contextAttributes({ runId, threadId, agentId, ...rest }: TelemetryContext): Attributes {
  return known({
    "gen_ai.agent.id": agentId,
    "gen_ai.agent.name": agentId,
    "gen_ai.conversation.id": threadId,
    "awaken.run.id": runId,
    "awaken.thread.id": threadId,
    "awaken.agent.id": agentId,
    "awaken.parent_run.id": rest.parentRunId,
    "awaken.parent_tool.call_id": rest.parentToolCallId,
    "awaken.prompt_id": rest.promptId,
    "awaken.tool_desc_ids": rest.toolDescIds.length === 0 ? undefined : [...rest.toolDescIds],
    "awaken.skill_ids": rest.skillIds.length === 0 ? undefined : [...rest.skillIds],
    "awaken.release.tag": rest.releaseTag,
    "awaken.experiment.id": rest.experimentId,
    "awaken.experiment.variant": rest.variantName,
  });
}

export function usageAttributes(usage: Usage): Attributes {
  return known({
    "gen_ai.usage.input_tokens": usage.inputTokens,
    "gen_ai.usage.output_tokens": usage.outputTokens,
    "gen_ai.usage.cache_read.input_tokens": usage.cacheReadTokens,
    "gen_ai.usage.cache_creation.input_tokens": usage.cacheWriteTokens,
    "gen_ai.usage.reasoning.output_tokens": usage.reasoningTokens,
  });
}

/** Those that a sampler may want to see. */
export function inferenceStart(begun: Extract<Beginning, { type: "inference" }>): Attributes {
  return known({
    "gen_ai.operation.name": "chat",
    "gen_ai.provider.name": begun.provider,
    "gen_ai.request.model": begun.model,
    "gen_ai.request.temperature": begun.temperature,
    "gen_ai.request.top_p": begun.topP,
    "gen_ai.request.max_tokens": begun.maxTokens,
    "awaken.step.index": begun.step,
  });
}

const text = (value: unknown): string | undefined => (value === undefined ? undefined : JSON.stringify(value));

export function inferenceEnd(event: InferenceEvent): Attributes {
  const { finishReason } = event;
  return {
    ...usageAttributes(event.usage),
    ...known({
      "gen_ai.provider.name": event.provider,
      "gen_ai.request.model": event.model,
      "gen_ai.response.model": event.responseModel,
      "gen_ai.response.id": event.responseId,
      "gen_ai.response.finish_reasons": finishReason === undefined ? undefined : [finishReason.replaceAll("-", "_")],
      "gen_ai.input.messages": text(event.requestMessages),
      "gen_ai.output.messages": text(event.responseContent),
      "awaken.cost.usd": event.costUsd,
      "awaken.inference.retries": event.retries === 0 ? undefined : event.retries,
      "error.type": event.errorType,
      "error.message": event.errorMessage,
      "gen_ai.error.class": event.errorClass,
    }),
  };
}

export function toolStart(tool: Pick<ToolEvent, "name" | "callId" | "step">, isSynthetic: boolean): Attributes {
  return known({
    "gen_ai.operation.name": "execute_tool",
    "gen_ai.tool.name": tool.name,
    "gen_ai.tool.type": "function",
    "gen_ai.tool.call.id": tool.callId,
    "awaken.step.index": tool.step,
    "awaken.tool.synthetic_parent": isSynthetic ? true : undefined,
  });
}

const isTruncated = (value: unknown): boolean => typeof value === "object" && value !== null && "__awaken_payload_truncated" in value;

export function toolEnd(event: ToolEvent): Attributes {
  return known({
    "gen_ai.tool.call.arguments": text(event.arguments),
    "gen_ai.tool.call.result": text(event.result),
    "awaken.tool.payload.truncated": isTruncated(event.arguments) || isTruncated(event.result) ? true : undefined,
    "error.type": event.errorType === "tool_error" ? (event.errorClass ?? event.errorType) : event.errorType,
  });
}

export function runEnd(event: RunEvent): Attributes {
  return {
    ...usageAttributes(event.usage),
    ...known({
      "awaken.root.close_reason": event.outcome,
      "awaken.session.inference_count": event.inferences,
      "awaken.session.tool_count": event.tools,
      "awaken.session.tool_failures": event.toolFailures,
      "awaken.session.duration": event.durationMs,
      "awaken.cost.usd": event.costUsd,
      "error.type": event.errorType,
    }),
  };
}
