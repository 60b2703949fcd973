import type { ContextMessage } from "@awaken/contract";
import { defineRuntimeState } from "../state/key.ts";
import { lateSchema } from "../state/late-schema.ts";

export interface ContextMessages {
  readonly messages: { readonly [key: string]: ContextMessage };
}

/** What plugins want the model to read, by key; the thread never sees it. Changes are made in `changes.ts`. */
export const contextMessages = defineRuntimeState("context_message_store", {
  merge: "commutative",
  schema: lateSchema((room) => room.contextMessagesSchema),
  initial: (): ContextMessages => ({ messages: {} }),
  apply: (value, change: (value: ContextMessages) => ContextMessages): ContextMessages => change(value),
});
