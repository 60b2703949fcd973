import { type Message, messageId } from "@awaken/contract";
import type { Ids } from "../stream/ids.ts";
import type { Collected } from "./collected.ts";
import type { StreamOutcome } from "./stream-turn.ts";

/** Whether the token limit cut off something that the model can be asked to go on with. */
export function isTruncated(outcome: StreamOutcome, { text, toolCalls, malformedCalls }: Collected): boolean {
  if (outcome.type !== "ended" || outcome.reason !== "max-tokens" || toolCalls.length > 0) return false;
  return malformedCalls.length > 0 || text.trim() !== "";
}

const SMALLER =
  "Your reply was cut off by the limit of output tokens. Continue from where it stopped, in smaller pieces: say less at a time and split large tool inputs into several calls.";

/** What goes into the conversation before the model is asked again: what it said, unless that was nothing, and the request to go on. */
export function truncationMessages({ text, content }: Collected, ids: Ids): Message[] {
  const plea: Message = { id: messageId(ids()), role: "user", content: [{ type: "text", text: SMALLER }], visibility: "internal" };
  if (text.trim() === "") return [plea];
  return [{ id: messageId(ids()), role: "assistant", content }, plea];
}
