import type { Message } from "@awaken/contract";

/** What the page shows, right before what the user said last. */
export function withFrontendContext(messages: readonly Message[], shown: Message): readonly Message[] {
  const last = messages.findLastIndex(({ role }) => role === "user");
  return messages.toSpliced(Math.max(last, 0), 0, shown);
}
