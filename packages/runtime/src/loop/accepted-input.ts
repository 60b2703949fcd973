import type { AgentEvent, InputMode, Message } from "@awaken/contract";

/** A message, and how whoever sent it asked for it to be read. */
export interface Incoming {
  readonly message: Message;
  readonly mode: InputMode;
}

/** One event for what came in the same way and one after the other. */
export function acceptedInput(incoming: readonly Incoming[]): readonly AgentEvent[] {
  const events: { type: "input-accepted"; messages: Message[]; mode: InputMode }[] = [];
  for (const { message, mode } of incoming) {
    const last = events.at(-1);
    if (last?.mode === mode) last.messages.push(message);
    else events.push({ type: "input-accepted", messages: [message], mode });
  }
  return events;
}
