import {
  type AssistantMessage,
  type Message,
  messageId,
  messageToolCalls,
  type ToolCallContent,
  type ToolCallId,
  type ToolMessage,
} from "@awaken/contract";
import { INTERRUPTED_RESULT } from "./interrupted-result.ts";

function interrupted(message: AssistantMessage, call: ToolCallContent): ToolMessage {
  return {
    id: messageId(`${message.id}:${call.id}:interrupted`),
    role: "tool",
    toolCallId: call.id,
    toolName: call.name,
    status: "error",
    content: [{ type: "text", text: INTERRUPTED_RESULT }],
  };
}

type Answers = Map<ToolCallId, ToolMessage | undefined>;

/** A result answers the nearest call before it with that id: vendors number their calls anew in each turn. */
function readAnswers(messages: readonly Message[]): ReadonlyMap<Message, Answers> {
  const byMessage = new Map<Message, Answers>();
  const open = new Map<ToolCallId, Answers>();
  for (const message of messages) {
    if (message.role === "tool") {
      const answers = open.get(message.toolCallId);
      // Set anew, so that the answers stay in the order in which they came; of two the later counts.
      answers?.delete(message.toolCallId);
      answers?.set(message.toolCallId, message);
      continue;
    }
    const calls = messageToolCalls(message);
    if (calls.length === 0) continue;
    const answers: Answers = new Map(calls.map((call) => [call.id, undefined]));
    for (const call of calls) open.set(call.id, answers);
    byMessage.set(message, answers);
  }
  return byMessage;
}

/**
 * Gives each call exactly one result, right behind its message: a missing one is made up, one without a call is dropped.
 * A list in which nothing is wrong comes back itself.
 */
export function repairCalls(messages: readonly Message[]): readonly Message[] {
  const byMessage = readAnswers(messages);
  const whole: Message[] = [];
  for (const message of messages) {
    if (message.role === "tool") continue;
    whole.push(message);
    const answers = byMessage.get(message);
    if (message.role !== "assistant" || answers === undefined) continue;
    for (const answer of answers.values()) if (answer !== undefined) whole.push(answer);
    for (const call of messageToolCalls(message)) if (answers.get(call.id) === undefined) whole.push(interrupted(message, call));
  }
  const isSame = whole.length === messages.length && whole.every((message, index) => message === messages[index]);
  return isSame ? messages : whole;
}
