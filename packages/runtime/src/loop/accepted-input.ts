import type { AgentEvent, InputMode, Message } from "@awaken/contract";

/** A message, and how whoever sent it asked for it to be read. */
export interface Incoming {
  readonly message: Message;
  readonly mode: InputMode;
}

/** One event for what came in the same way and one after the other. */
export function acceptedInput(incoming: readonly Incoming[]): readonly AgentEvent[] {
  const events: AgentEvent[] = [];
  let last: { type: "input-accepted"; messages: Message[]; mode: InputMode } | undefined;
  for (const { message, mode } of incoming) {
    if (last?.mode === mode) last.messages.push(message);
    else {
      last = { type: "input-accepted", messages: [message], mode };
      events.push(last);
    }
  }
  return events;
}
