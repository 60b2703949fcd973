import { type JsonObject, type Message, messageId } from "@awaken/contract";

const TAG = "frontend-context";

/** One message object for a run, so that what is cached per message stays good from step to step. */
const made = new WeakMap<JsonObject, Message>();

function toMessage(shown: JsonObject): Message {
  const before = made.get(shown);
  if (before !== undefined) return before;
  const text = `<${TAG}>\n${JSON.stringify(shown)}\n</${TAG}>`;
  const message: Message = { id: messageId(TAG), role: "system", visibility: "internal", content: [{ type: "text", text }] };
  made.set(shown, message);
  return message;
}

/** What the page shows, right before what the user said last. */
export function withFrontendContext(messages: readonly Message[], shown: JsonObject): readonly Message[] {
  const last = messages.findLastIndex(({ role }) => role === "user");
  return messages.toSpliced(Math.max(last, 0), 0, toMessage(shown));
}
