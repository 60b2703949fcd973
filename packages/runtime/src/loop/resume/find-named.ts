import { type Message, type MessageId, messageId } from "@awaken/contract";
import type { SequencedMessage, ThreadHead } from "@awaken/contract/store";
import { rewindOver } from "../../commit/rewound-rows.ts";
import { rowsAfter } from "../../commit/rows-after.ts";
import type { RunOrder } from "../run-order.ts";
import type { RunRecords } from "../run-records.ts";
import type { Given } from "./load-thread.ts";

/** Undefined when the message is not taken back, or was said again since the rewind that took it. */
function idAfterRewinds(id: MessageId, seq: number, later: readonly SequencedMessage[]): MessageId | undefined {
  const by = rewindOver(seq, later);
  if (by === undefined) return undefined;
  const next = messageId(`${id}~${by}`);
  const again = later.find(({ message }) => message.id === next);
  return again === undefined ? next : idAfterRewinds(id, again.seq, later);
}

/** Said again after a rewind it is another message. Its id follows from the rewind, so that it is added once. */
export async function findNamed({ messages }: RunRecords, { threadId, namedMessages, input }: RunOrder, head: ThreadHead): Promise<Given> {
  // In the log already.
  const logged = new Set<MessageId>();
  // Ids that the log has for what was taken out of view, with those that the messages get instead.
  const renamed = new Map<MessageId, MessageId>();
  for (const { seq, message } of await messages.load(threadId, namedMessages)) {
    const isSeen = head.messages.some((row) => row.seq === seq);
    const later = isSeen ? [] : await rowsAfter(messages, threadId, seq);
    const id = idAfterRewinds(message.id, seq, later);
    if (id === undefined) logged.add(message.id);
    else renamed.set(message.id, id);
  }
  return {
    input: input.flatMap((message): Message[] => {
      const id = renamed.get(message.id);
      if (id === undefined || message.role === "tool") return logged.has(message.id) ? [] : [message];
      return [{ ...message, id, metadata: { ...message.metadata, clientId: message.id } }];
    }),
    inputIds: input.map(({ id }) => renamed.get(id) ?? id),
  };
}
