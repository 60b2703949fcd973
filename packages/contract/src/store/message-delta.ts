import { AwakenError } from "../error.ts";
import type { MessageId } from "../ids.ts";
import type { Message } from "../message.ts";
import * as s from "../schema/all.ts";
import { messageSchema } from "./message-schema.ts";
import { recordCheck } from "./record-check.ts";
import { areUnique } from "./unique.ts";

/** A summary can only stand for rows before itself, and only an internal row takes back rows, which are before it too. */
export function endsBefore({ metadata, visibility }: Message, seq: number): boolean {
  if (metadata?.rewind !== undefined && (metadata.rewind.fromSeq >= seq || visibility !== "internal")) return false;
  return (metadata?.compaction?.toSeq ?? 0) < seq;
}

const checkMessage = recordCheck<Message>({ name: "message", schema: messageSchema, accepts: s.guardOf<Message>(messageSchema) });

/**
 * Throws `storage_validation` unless these messages may be appended with `nextSeq` as the seq of the first. Whether an id is already
 * in the log is for the store to check.
 */
export function checkMessageDelta(messages: readonly Message[], { nextSeq }: { readonly nextSeq: number }): void {
  let seq = nextSeq;
  for (const message of messages) {
    const { id } = checkMessage(message);
    if (!endsBefore(message, seq)) {
      throw new AwakenError(
        "storage_validation",
        `the mark of message '${id}' must be about rows before its own row ${seq}, and a rewind must be internal`,
      );
    }
    seq++;
  }
  if (areUnique(messages, idOf)) return;
  const id = messages.find((message, index) => messages.findIndex((other) => other.id === message.id) !== index)?.id ?? "";
  throw new AwakenError("storage_validation", `message id '${id}' is twice in one delta`, { details: { id } });
}

const idOf = (message: Message): MessageId => message.id;
