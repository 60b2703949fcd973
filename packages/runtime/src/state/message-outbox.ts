import { type FailedMessages, failedMessagesSchema, type MessageOutbox, messageOutboxSchema } from "@awaken/contract";
import { defineRuntimeState } from "./key.ts";

type Entry = MessageOutbox["pending"][number];

export type OutboxUpdate =
  | { readonly type: "queue"; readonly entries: readonly Entry[] }
  | { readonly type: "sent"; readonly id: string }
  | { readonly type: "failed"; readonly id: string };

/** Messages to other agents that are on record and not with them yet, in their order. */
export const messageOutbox = defineRuntimeState("message_outbox", {
  scope: "thread",
  merge: "commutative",
  schema: messageOutboxSchema,
  initial: (): MessageOutbox => ({ pending: [] }),
  apply({ pending }, update: OutboxUpdate): MessageOutbox {
    switch (update.type) {
      case "queue": {
        const fresh = update.entries.filter(({ id }) => !pending.some((entry) => entry.id === id));
        return { pending: [...pending, ...fresh] };
      }
      case "sent":
        return { pending: pending.filter(({ id }) => id !== update.id) };
      case "failed":
        return { pending: pending.map((entry) => (entry.id === update.id ? { ...entry, attempts: entry.attempts + 1 } : entry)) };
    }
  },
});

export type FailedUpdate = { readonly type: "add"; readonly failed: FailedMessages["messages"][number] } | { readonly type: "clear" };

/** Messages that could not be delivered, until somebody sends them again or gives them up. */
export const failedMessages = defineRuntimeState("failed_messages", {
  scope: "thread",
  merge: "commutative",
  schema: failedMessagesSchema,
  initial: (): FailedMessages => ({ messages: [] }),
  apply: ({ messages }, update: FailedUpdate): FailedMessages => ({
    messages: update.type === "clear" ? [] : [...messages, update.failed],
  }),
});
