import { CONTEXT_TARGETS, type ContextMessage, type Message } from "@awaken/contract";
import { defineRuntimeState } from "../state/key.ts";
import { lateSchema } from "../state/late-schema.ts";
import type { MadeMessages } from "./made-messages.ts";

export type ContextMessagesUpdate =
  | { readonly type: "put"; readonly message: ContextMessage }
  | { readonly type: "remove"; readonly keys: readonly string[] };

type ByKey = { [key: string]: ContextMessage };

/** What plugins want the model to read, by key; the thread never sees it. */
export const contextMessages = defineRuntimeState("context_message_store", {
  merge: "commutative",
  schema: lateSchema((room) => room.contextMessagesSchema),
  initial: (): { messages: ByKey } => ({ messages: {} }),
  apply(value, update: ContextMessagesUpdate): { messages: ByKey } {
    if (update.type === "put") return { messages: { ...value.messages, [update.message.key]: update.message } };
    const gone = new Set(update.keys);
    return { messages: Object.fromEntries(Object.entries(value.messages).filter(([key]) => !gone.has(key))) };
  },
});

/** Shown once, then taken out of the store. */
export const isOneShot = (message: ContextMessage): boolean => !message.persistent || message.consumeAfterEmit;

function compare(a: ContextMessage, b: ContextMessage): number {
  const byTarget = CONTEXT_TARGETS.indexOf(a.target) - CONTEXT_TARGETS.indexOf(b.target);
  return byTarget || a.priority - b.priority || (a.key < b.key ? -1 : 1);
}

/** How many system messages the list begins with. */
export function countLeadingSystem(messages: readonly Message[]): number {
  let count = 0;
  while (messages[count]?.role === "system") count++;
  return count;
}

/** Puts each entry where its target says: before everything, behind the leading system messages, or at the end. */
export function placeContext(messages: readonly Message[], entries: readonly ContextMessage[], made: MadeMessages): readonly Message[] {
  const sorted = entries.toSorted(compare);
  const of = (...targets: readonly ContextMessage["target"][]) =>
    sorted.filter((entry) => targets.includes(entry.target)).map((entry) => made.ofEntry(entry));
  const at = countLeadingSystem(messages);
  return [...of("system"), ...messages.slice(0, at), ...of("session", "conversation"), ...messages.slice(at), ...of("suffix-system")];
}
