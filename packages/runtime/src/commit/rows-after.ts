import type { ThreadId } from "@awaken/contract";
import { MAX_LIMIT, type MessageRecord, type MessageStore, type Page, type SequencedMessage } from "@awaken/contract/store";

/** All rows of the log behind this one, whoever may see them. */
export async function rowsAfter(
  messages: Pick<MessageStore, "list">,
  threadId: ThreadId,
  seq: number,
): Promise<readonly SequencedMessage[]> {
  const rows: SequencedMessage[] = [];
  for (let afterSeq: number | undefined = seq; afterSeq !== undefined; ) {
    const page: Page<MessageRecord, number> = await messages.list(threadId, { afterSeq, limit: MAX_LIMIT, visibility: "all" });
    rows.push(...page.items);
    afterSeq = page.next;
  }
  return rows;
}
