import type { AgUiMessage, AgUiToolCall } from "./frame.ts";

/** The messages of a thread as they are on record, with what the stream has added to them. */
export class Kept {
  #messages: AgUiMessage[] = [];
  #isTold = false;

  get messages(): readonly AgUiMessage[] {
    return [...this.#messages];
  }

  /** Whether the client was given all of them in this stream, and has nothing else. */
  get isTold(): boolean {
    return this.#isTold;
  }

  begin(messages: readonly AgUiMessage[], isTold: boolean): void {
    this.#messages = [...messages];
    this.#isTold = isTold;
  }

  has(messageId: string): boolean {
    return this.#messages.some(({ id }) => id === messageId);
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
