import type { FailedMessages, MessageOutbox } from "@awaken/contract";
import { defineRuntimeState } from "./key.ts";
import { lateSchema } from "./late-schema.ts";

/** The change itself: whoever makes one has loaded what knows how, `builtin/messages`. */
export type OutboxUpdate = (value: MessageOutbox) => MessageOutbox;

/** Messages to other agents that are on record and not with them yet, in their order. */
export const messageOutbox = defineRuntimeState("message_outbox", {
  scope: "thread",
  merge: "commutative",
  schema: lateSchema((room) => room.messageOutboxSchema),
  initial: (): MessageOutbox => ({ pending: [] }),
  apply: (value, change: OutboxUpdate): MessageOutbox => change(value),
});

export type FailedUpdate = { readonly type: "add"; readonly failed: FailedMessages["messages"][number] } | { readonly type: "clear" };

/** Messages that could not be delivered, until somebody sends them again or gives them up. */
export const failedMessages = defineRuntimeState("failed_messages", {
  scope: "thread",
  merge: "commutative",
  schema: lateSchema((room) => room.failedMessagesSchema),
  initial: (): FailedMessages => ({ messages: [] }),
  apply: ({ messages }, update: FailedUpdate): FailedMessages => ({
    messages: update.type === "clear" ? [] : [...messages, update.failed],
  }),
});
