import type { JsonObject } from "../json.ts";
import type { Message } from "../message.ts";

const MESSAGE_KINDS: Record<Message["role"], readonly [external: string, internal: string]> = {
  user: ["user-input", "internal-user-input"],
  assistant: ["assistant-output", "assistant-output"],
  tool: ["tool-result", "tool-result"],
  system: ["system", "internal-system"],
};

/** The payload of `message-committed`: it says no more than the row of the message does, so a store need not keep it. */
export function messageFact({ id, role, visibility }: Message, seq: number): JsonObject {
  return { messageId: id, messageSeq: seq, role, messageKind: MESSAGE_KINDS[role][visibility === "internal" ? 1 : 0] };
}
