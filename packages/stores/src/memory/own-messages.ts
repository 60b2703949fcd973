import type { Message } from "@awaken/contract";
import { ownWith } from "./own.ts";
import type { ThreadRow } from "./tables.ts";

/** Copies of messages that are not handed over. Those of a step mostly have the same metadata. */
export function ownMessages(row: ThreadRow, messages: readonly Message[]): readonly Message[] {
  let like = row.messages.at(-1)?.metadata;
  return messages.map((message) => {
    const owned = ownWith(message, "metadata", like);
    like = owned.metadata;
    return owned;
  });
}
