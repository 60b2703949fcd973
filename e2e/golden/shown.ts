import { type AgentEvent, EVENT_TABLE } from "@awaken/contract";
import type { AttachedEvent } from "@awaken/runtime";

/** Without what only somebody hears who was there: how an answer came in pieces, and what passed by. */
export const factsOf = (events: readonly AgentEvent[]): readonly AgentEvent[] =>
  events.flatMap((event) => {
    const { cursor: _cursor, ...fact }: AttachedEvent = event;
    return EVENT_TABLE[event.type].isStored ? [fact] : [];
  });

/** What was said, with the steps and calls that it was said in. */
export const wordsOf = (events: readonly AgentEvent[]): readonly unknown[] => {
  const words: { [part: string]: string }[] = [];
  for (const event of events) {
    if (event.type === "step-start") words.push({ step: `${event.step} ${event.messageId} ${event.agentId}` });
    const last = words.at(-1) ?? {};
    if (event.type === "text-delta" || event.type === "reasoning-delta") last[event.type] = (last[event.type] ?? "") + event.delta;
    if (event.type === "tool-call-delta") last[event.toolCallId] = (last[event.toolCallId] ?? "") + event.delta;
  }
  return words;
};
