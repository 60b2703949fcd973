import {
  type AssistantContent,
  type AssistantMessage,
  type JsonValue,
  type MessageId,
  messageId,
  messageText,
  type RunId,
  type ToolCall,
  type ToolContent,
  type ToolMessage,
  type ToolResult,
} from "@awaken/contract";
import type { SequencedMessage } from "@awaken/contract/store";
import type { MessageStamp } from "../commit/tally.ts";
import type { LiveCall } from "./live-call.ts";
import type { RunContext } from "./run-context.ts";

/** What a message of a run is made with. */
export interface MessageMaker {
  readonly ids: RunContext["ids"];
  readonly identity: RunContext["identity"];
  readonly tally: { readonly steps: number; stamp?: MessageStamp | undefined };
}

const newId = (ctx: MessageMaker): MessageId => messageId(ctx.ids());

/** Kept with the tally: each message of a step had one of its own, in memory stores too. */
export function stamp({ tally, identity }: MessageMaker): MessageStamp {
  const stepIndex = Math.max(0, tally.steps - 1);
  if (tally.stamp?.stepIndex !== stepIndex) tally.stamp = Object.freeze({ runId: identity.runId, stepIndex });
  return tally.stamp;
}

export function assistantMessage(ctx: RunContext, id: MessageId, content: readonly AssistantContent[]): AssistantMessage {
  const { id: agentId } = ctx.active.plan.agent;
  // The record of the run says who speaks, until another agent does.
  const sender = agentId === ctx.identity.agentId ? undefined : { senderAgentId: agentId };
  return { id, role: "assistant", content, metadata: sender === undefined ? stamp(ctx) : { ...stamp(ctx), ...sender } };
}

/** What the run said last, as its thread has it. Only the newest answer is looked at: an older one is of another run. */
export function lastWords(messages: readonly SequencedMessage[], run: RunId): string {
  const last = messages.findLast(({ message }) => message.role === "assistant")?.message;
  return last?.metadata?.runId === run ? messageText(last) : "";
}

const dataText = (data: JsonValue): string => (typeof data === "string" ? data : JSON.stringify(data));

/** What the model reads of it, beside its media. */
export const successText = ({ message, data }: Extract<ToolResult, { type: "success" }>): string => message ?? dataText(data);

function resultContent(name: string, result: ToolResult): readonly ToolContent[] {
  switch (result.type) {
    case "success":
      return [{ type: "text", text: successText(result) }, ...(result.media ?? [])];
    case "error":
      return [{ type: "text", text: result.message }];
    case "pending":
      return [{ type: "text", text: result.message ?? `Tool '${name}' suspended: awaiting decision` }];
  }
}

export function toolMessage(ctx: MessageMaker, call: ToolCall, result: ToolResult, edited?: LiveCall["edited"]): ToolMessage {
  return {
    id: newId(ctx),
    role: "tool",
    toolCallId: call.id,
    toolName: call.name,
    status: result.type,
    content: resultContent(call.name, result),
    metadata: edited === undefined ? stamp(ctx) : { ...stamp(ctx), edited },
  };
}
