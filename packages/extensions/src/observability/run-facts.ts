import { INFERENCE_FAILURES, type InferenceRequest, type JsonValue, type ToolResult, type Turn, toJson } from "@awaken/contract";
import type { Capture } from "./capture.ts";
import type { InferenceEvent, ToolEvent } from "./events.ts";

/** The parameters that were asked for. */
export function askedFor({ overrides = {} }: InferenceRequest): Pick<InferenceEvent, "temperature" | "topP" | "maxTokens"> {
  const { temperature, topP, maxTokens } = overrides;
  return {
    ...(temperature === undefined ? undefined : { temperature }),
    ...(topP === undefined ? undefined : { topP }),
    ...(maxTokens === undefined ? undefined : { maxTokens }),
  };
}

function failureFacts(capture: Capture, { type, message }: Extract<Turn, { stopReason: "error" }>["failure"]): Partial<InferenceEvent> {
  const said = capture.messages ? { errorMessage: message } : undefined;
  return { errorType: type, errorClass: INFERENCE_FAILURES[type], ...said };
}

/** The prompt, if it may be told. Read before the model is asked: the list of messages is the run's own, which goes on while others watch. */
export const askedMessages = (capture: Capture, { messages }: InferenceRequest): JsonValue | undefined =>
  capture.message("request", () => toJson(messages));

/** What came of an inference, with what of it may be told. */
export function answerFacts(capture: Capture, turn: Turn, asked: JsonValue | undefined): Partial<InferenceEvent> {
  const { id, model } = turn.response ?? {};
  const content = capture.message("response", () => toJson(turn.content));
  const calls = turn.toolCalls.length === 0 ? undefined : capture.message("response", () => toJson(turn.toolCalls));
  return {
    ...(turn.stopReason === "error" ? failureFacts(capture, turn.failure) : { finishReason: turn.stopReason }),
    ...(id === undefined ? undefined : { responseId: id }),
    ...(model === undefined ? undefined : { responseModel: model }),
    ...(content === undefined ? undefined : { responseContent: content }),
    ...(calls === undefined ? undefined : { responseToolCalls: calls }),
    ...(asked === undefined ? undefined : { requestMessages: asked }),
  };
}

/** What a call was given and gave, as far as that is known. */
export interface SaidOfCall {
  readonly input: JsonValue | undefined;
  /** Undefined: its run ended before it had one. */
  readonly result: ToolResult | undefined;
}

const shownOf = (result: ToolResult): JsonValue => (result.type === "success" ? result.data : { error: result.message ?? result.type });

function failureOf(result: ToolResult | undefined): ToolEvent["errorType"] | undefined {
  if (result === undefined) return "missing_tool_result";
  return result.type === "error" ? "tool_error" : undefined;
}

type ToolFacts = Pick<ToolEvent, "errorType" | "errorClass" | "arguments" | "result">;

export function toolFacts(capture: Capture, name: string, { input, result }: SaidOfCall): ToolFacts {
  const errorType = failureOf(result);
  const given = input === undefined ? undefined : capture.arguments(name, input);
  const got = result === undefined || result.type === "pending" ? undefined : capture.result(name, shownOf(result));
  return {
    ...(errorType === undefined ? undefined : { errorType }),
    ...(result?.type === "error" ? { errorClass: result.code } : undefined),
    ...(given === undefined ? undefined : { arguments: given }),
    ...(got === undefined ? undefined : { result: got }),
  };
}
