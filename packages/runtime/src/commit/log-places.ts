import type { Message, MessageId } from "@awaken/contract";
import type { Summaries, Transcript } from "./transcript.ts";

// Where messages stand in the log: what a run does without to which nothing is sent, and whose conversation is not compacted.

function seqOf(transcript: Transcript, id: MessageId): number | undefined {
  const seqs = transcript.seqs ?? new Map<MessageId, number>();
  transcript.seqs = seqs;
  for (let piece = transcript.rows; piece !== undefined; piece = piece.before) {
    if (piece.from === undefined) for (const { seq, message } of piece.rows) seqs.set(message.id, seq);
    else for (const [index, message] of piece.rows.entries()) seqs.set(message.id, piece.from + index);
  }
  transcript.rows = undefined;
  return seqs.get(id);
}

/** Whether the message is in the log, as far as this run has seen it, or will be. */
export const isLogged = (transcript: Transcript, id: MessageId): boolean =>
  seqOf(transcript, id) !== undefined || transcript.added.some((message) => message.id === id);

/** Summaries that wait for the commit to learn which rows they stand for. */
class WaitingSummaries implements Summaries {
  readonly ids = new Set<MessageId>();
  readonly #transcript: Transcript;

  constructor(transcript: Transcript) {
    this.#transcript = transcript;
  }

  placed(added: readonly Message[], count: number): readonly Message[] {
    return added.map((message, index) => {
      if (!this.ids.has(message.id)) return message;
      const toSeq = Math.min(this.#firstRowAfter(message.id, count), count + 1 + index) - 1;
      return { ...message, metadata: { ...message.metadata, compaction: { fromSeq: 1, toSeq } } };
    });
  }

  landed(added: readonly Message[]): void {
    for (const { id } of added) this.ids.delete(id);
  }

  /** The lowest row that is still shown behind a summary. A result that came late is shown before its row, so rows are not in view order. */
  #firstRowAfter(summary: MessageId, count: number): number {
    const { messages: view, added } = this.#transcript;
    const shown = view.slice(view.findIndex((message) => message.id === summary) + 1);
    const uncommitted = new Map(added.map((message, index) => [message.id, count + 1 + index]));
    const rowOf = (message: Message) => seqOf(this.#transcript, message.id) ?? uncommitted.get(message.id) ?? Number.POSITIVE_INFINITY;
    return shown.reduce((lowest, message) => Math.min(lowest, rowOf(message)), Number.POSITIVE_INFINITY);
  }
}

/** Puts the summary in place of everything up to and with `upTo`. False, and nothing happens, when that message is gone. */
export function compact(transcript: Transcript, upTo: MessageId, summary: Message): boolean {
  const at = transcript.messages.findIndex((message) => message.id === upTo);
  if (at === -1) return false;
  transcript.messages.splice(0, at + 1, summary);
  transcript.add(summary);
  const waiting = transcript.summaries ?? new WaitingSummaries(transcript);
  transcript.summaries = waiting;
  waiting.ids.add(summary.id);
  return true;
}
