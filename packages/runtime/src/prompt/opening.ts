import { type Message, messageId, perObject, type UserMessage } from "@awaken/contract";

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

/** How many system messages the list begins with. */
export function countLeadingSystem(messages: readonly Message[]): number {
  let count = 0;
  while (messages[count]?.role === "system") count++;
  return count;
}

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
