import { type Message, messageId, perObject, type UserMessage } from "@awaken/contract";
import { countLeadingSystem } from "./context-messages.ts";

export const OPENING = "[The conversation goes on here; what came before it is not shown.]";

/** One opening for as long as the message behind it stands, so that what is cached per message stays good from step to step. */
const openingOf = perObject(
  (first: Message): UserMessage => ({
    id: messageId(`${first.id}:opening`),
    role: "user",
    visibility: "internal",
    content: [{ type: "text", text: OPENING }],
  }),
);

/**
 * Behind the leading system messages the user speaks first: vendors refuse a conversation that was cut in front of an answer, or that the
 * assistant began. A list in which the user does comes back itself.
 */
export function openWithUser(messages: readonly Message[]): readonly Message[] {
  const at = countLeadingSystem(messages);
  const first = messages[at];
  if (first === undefined || first.role === "user") return messages;
  return [...messages.slice(0, at), openingOf(first), ...messages.slice(at)];
}
