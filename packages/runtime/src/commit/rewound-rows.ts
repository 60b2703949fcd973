import { type Message, type MessageId, messageToolCalls, type RunId, type ToolMessage } from "@awaken/contract";
import type { SequencedMessage } from "@awaken/contract/store";

/** The last rewind behind this row, among those given, that takes it out of the view. */
export const rewindOver = (seq: number, later: readonly SequencedMessage[]): number | undefined =>
  later.findLast((row) => row.seq > seq && (rewindFrom(row.message) ?? Number.POSITIVE_INFINITY) <= seq)?.seq;

const rewindFrom = (message: Message): number | undefined => (message.role === "tool" ? undefined : message.metadata?.rewind?.fromSeq);

/** Without the rewinds, and without what they took back. */
function stillThere(rows: readonly SequencedMessage[]): readonly SequencedMessage[] {
  const there: SequencedMessage[] = [];
  for (const row of rows) {
    const from = rewindFrom(row.message);
    if (from === undefined) there.push(row);
    else while ((there.at(-1)?.seq ?? 0) >= from) there.pop();
  }
  return there;
}

export interface RewoundRows {
  /** What anybody could see of them, in log order. */
  readonly taken: readonly SequencedMessage[];
  /** Results, and retractions, of calls that stay in view: they came late, and are to be said again. */
  readonly late: readonly ToolMessage[];
}

/** Whoever does not name a run may be of any. */
const isSameRun = (a: RunId | undefined, b: RunId | undefined): boolean => a === undefined || b === undefined || a === b;

/** What a rewind of all these rows, which are the last of their log, takes out of the view. */
export function rewoundRows(rows: readonly SequencedMessage[]): RewoundRows {
  const there = stillThere(rows);
  const ids = new Set<MessageId>(there.map(({ message }) => message.id));
  const callers: SequencedMessage[] = [];
  const late: ToolMessage[] = [];
  const isLate = ({ metadata, toolCallId }: ToolMessage): boolean => {
    if (metadata?.callMessageId !== undefined) return !ids.has(metadata.callMessageId);
    const isCaller = ({ message }: SequencedMessage) =>
      isSameRun(message.metadata?.runId, metadata?.runId) && messageToolCalls(message).some(({ id }) => id === toolCallId);
    return !callers.some(isCaller);
  };
  for (const row of there) {
    const { message } = row;
    if (message.role !== "tool") {
      if (messageToolCalls(message).length > 0) callers.push(row);
    } else if (isLate(message)) late.push(message);
  }
  const isSeen = ({ message }: SequencedMessage) =>
    message.visibility !== "internal" && (message.role === "tool" ? !late.includes(message) : message.metadata?.compaction === undefined);
  return { taken: there.filter(isSeen), late };
}
