import type { AgUiMessage, AgUiToolCall } from "./frame.ts";

/** The messages of a thread as they are on record, with what the stream has added to them. */
export class Kept {
  #messages: AgUiMessage[] = [];

  get messages(): readonly AgUiMessage[] {
    return [...this.#messages];
  }

  begin(messages: readonly AgUiMessage[]): void {
    this.#messages = [...messages];
  }

  keep(message: AgUiMessage): void {
    const at = this.#messages.findLastIndex(({ id }) => id === message.id);
    const before = this.#messages[at];
    if (before === undefined) this.#messages.push(message);
    else this.#messages[at] = before.role === "assistant" && message.role === "assistant" ? { ...before, ...message } : message;
  }

  keepCall(messageId: string, call: AgUiToolCall): void {
    const before = this.#messages.findLast(({ id }) => id === messageId);
    const calls = before?.role === "assistant" ? (before.toolCalls ?? []) : [];
    this.keep({ id: messageId, role: "assistant", toolCalls: [...calls.filter(({ id }) => id !== call.id), call] });
  }
}
