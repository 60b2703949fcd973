import { type Message, type MessageId, type SequencedMessage, showEdit, type ToolMessage } from "@awaken/contract";

/**
 * The conversation of one run: what the model sees, and what is not committed yet. Messages are only appended, except that
 * the result of a call of an earlier activation goes to its call.
 */
export class Transcript {
  readonly #view: Message[];
  /** Rows of the log as far as this run has seen them, in pieces: nobody looks them up in most runs. */
  readonly #rows: (readonly SequencedMessage[])[];
  #seqs: Map<MessageId, number> | undefined;
  /** Summaries that wait for the commit to learn which rows they stand for. */
  #marks: Set<MessageId> | undefined;
  #delta: Message[] = [];

  constructor(history: readonly SequencedMessage[]) {
    this.#view = history.map((entry) => entry.message);
    this.#rows = history.length === 0 ? [] : [history];
  }

  #seqOf(id: MessageId): number | undefined {
    if (this.#seqs === undefined || this.#rows.length > 0) {
      this.#seqs ??= new Map();
      for (const rows of this.#rows.splice(0)) for (const { seq, message } of rows) this.#seqs.set(message.id, seq);
    }
    return this.#seqs.get(id);
  }

  /** Live: it grows while the run goes on. */
  get messages(): readonly Message[] {
    return this.#view;
  }

  /** Whether the message is in the log, as far as this run has seen it, or will be. */
  has(id: MessageId): boolean {
    return this.#seqOf(id) !== undefined || this.#delta.some((message) => message.id === id);
  }

  append(message: Message): void {
    this.#view.push(message);
    this.#delta.push(message);
  }

  /** For the log alone: the view was made without what it retracts. */
  retract(marker: Message): void {
    this.#delta.push(marker);
  }

  /** Already in the log: only the model has not seen it. */
  show(entry: SequencedMessage): void {
    this.#view.push(entry.message);
    this.#rows.push([entry]);
  }

  /**
   * The result of a call that is in the log: it stands among the results of its message, in the place of its placeholder if there is one,
   * and the call is shown with the input that it ran with.
   */
  answer(result: ToolMessage, asked: MessageId): void {
    this.#delta.push(result);
    const from = this.#view.findLastIndex((message) => message.id === asked) + 1;
    const asking = this.#view[from - 1];
    if (asking?.role === "assistant") this.#view[from - 1] = showEdit(asking, result);
    let at = from;
    for (let message = this.#view[at]; message?.role === "tool"; message = this.#view[++at]) {
      if (message.toolCallId !== result.toolCallId) continue;
      this.#view[at] = result;
      return;
    }
    if (from === 0) this.#view.push(result);
    else this.#view.splice(at, 0, result);
  }

  /** Puts the summary in place of everything up to and with `upTo`. False, and nothing happens, when that message is gone. */
  compact(upTo: MessageId, summary: Message): boolean {
    const at = this.#view.findIndex((message) => message.id === upTo);
    if (at === -1) return false;
    this.#view.splice(0, at + 1, summary);
    this.#delta.push(summary);
    this.#marks ??= new Set();
    this.#marks.add(summary.id);
    return true;
  }

  get hasDelta(): boolean {
    return this.#delta.length > 0;
  }

  /** What to append to a log of `count` rows. Each summary learns its rows here, the latest moment at which they are known. */
  delta(count: number): readonly Message[] {
    const marks = this.#marks;
    if (marks === undefined) return this.#delta;
    return this.#delta.map((message, index) => {
      if (!marks.has(message.id)) return message;
      const toSeq = Math.min(this.#firstRowAfter(message.id, count), count + 1 + index) - 1;
      return { ...message, metadata: { ...message.metadata, compaction: { fromSeq: 1, toSeq } } };
    });
  }

  /** The lowest row that is still shown behind a summary. A result that came late is shown before its row, so rows are not in view order. */
  #firstRowAfter(summary: MessageId, count: number): number {
    const shown = this.#view.slice(this.#view.findIndex((message) => message.id === summary) + 1);
    const uncommitted = new Map(this.#delta.map((message, index) => [message.id, count + 1 + index]));
    const rowOf = (message: Message) => this.#seqOf(message.id) ?? uncommitted.get(message.id) ?? Number.POSITIVE_INFINITY;
    return shown.reduce((lowest, message) => Math.min(lowest, rowOf(message)), Number.POSITIVE_INFINITY);
  }

  /** The delta is in the log, behind `count` rows. */
  settle(count: number): void {
    if (this.#delta.length === 0) return;
    this.#rows.push(this.#delta.map((message, index) => ({ seq: count + 1 + index, message })));
    this.#delta = [];
    this.#marks = undefined;
  }
}
