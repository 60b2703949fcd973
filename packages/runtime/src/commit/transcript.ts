import {
  freezeJson,
  type Message,
  type MessageId,
  messageToolCalls,
  type ToolCallContent,
  type ToolCallId,
  type ToolMessage,
} from "@awaken/contract";
import type { SequencedMessage } from "@awaken/contract/store";
import { seldom } from "./seldom-door.ts";

/** Rows as they were read, or messages that stand one behind the other in the log. */
type Rows = { readonly before: Rows | undefined } & (
  | { readonly from: undefined; readonly rows: readonly SequencedMessage[] }
  | { readonly from: number; readonly rows: readonly Message[] }
);

/** The places of the calls of a message. Nearly always they are asked for one after the other: an index is made when they are not. */
class CallOrder {
  readonly #calls: readonly ToolCallContent[];
  #next = 0;
  #places: ReadonlyMap<ToolCallId, number> | undefined;

  constructor(asking: Message) {
    this.#calls = messageToolCalls(asking);
  }

  placeOf(id: ToolCallId): number | undefined {
    if (this.#calls[this.#next]?.id === id) return this.#next++;
    if (this.#calls[this.#next - 1]?.id === id) return this.#next - 1;
    this.#places ??= new Map(this.#calls.map((call, place) => [call.id, place]));
    return this.#places.get(id);
  }
}

/** A message whose calls are answered: its place in the view and theirs in it, if it is there. */
interface Asked {
  readonly id: MessageId;
  readonly at: number;
  readonly order: CallOrder | undefined;
}

/**
 * The conversation of one run: what the model sees, and what is not committed yet. Messages are only appended, except that
 * the result of a call of an earlier activation goes to its call.
 */
export class Transcript {
  readonly #view: Message[];
  /** Rows of the log as far as this run has seen them, in pieces, the last one first: nobody looks them up in most runs. */
  #rows: Rows | undefined;
  #seqs: Map<MessageId, number> | undefined;
  /** Summaries that wait for the commit to learn which rows they stand for. */
  #marks: Set<MessageId> | undefined;
  #delta: Message[] = [];
  /** A commit has it, and may be read late: it stays as it is. */
  #isLent = false;
  /** The message whose calls were answered last. */
  #asked: Asked | undefined;

  constructor(history: readonly SequencedMessage[]) {
    this.#view = history.map((entry) => entry.message);
    if (history.length > 0) this.#rows = { before: undefined, from: undefined, rows: history };
  }

  #seqOf(id: MessageId): number | undefined {
    const seqs = this.#seqs ?? new Map<MessageId, number>();
    this.#seqs = seqs;
    for (let piece = this.#rows; piece !== undefined; piece = piece.before) {
      if (piece.from === undefined) for (const { seq, message } of piece.rows) seqs.set(message.id, seq);
      else for (const [index, message] of piece.rows.entries()) seqs.set(message.id, piece.from + index);
    }
    this.#rows = undefined;
    return seqs.get(id);
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
    this.#add(message);
  }

  /** Frozen: it is handed over to the store, which may keep it as it is, and from here on nobody changes it. */
  #add(message: Message): void {
    if (this.#isLent) this.#delta = [...this.#delta];
    this.#isLent = false;
    freezeJson(message);
    this.#delta.push(message);
  }

  /** For the log alone: the view was made without what it retracts. */
  retract(marker: Message): void {
    this.#add(marker);
  }

  /** Already in the log: only the model has not seen it. */
  show(entry: SequencedMessage): void {
    this.#view.push(entry.message);
    this.#rows = { before: this.#rows, from: entry.seq, rows: [entry.message] };
  }

  /**
   * The result of a call: it stands among those of its message, in call order, in the place of its placeholder if there is one, and the
   * call is shown with the input that it ran with.
   */
  answer(result: ToolMessage, asked: MessageId): void {
    this.#add(result);
    const { at: from, order } = this.#lookUp(asked);
    const asking = this.#view[from];
    const last = this.#view.at(-1);
    const before = last?.role === "tool" ? order?.placeOf(last.toolCallId) : undefined;
    const own = order?.placeOf(result.toolCallId);
    // Whoever decided has loaded it.
    if (asking?.role === "assistant" && result.metadata?.edited !== undefined) this.#view[from] = seldom.here.showEdit(asking, result);
    // Nearly always it is the next one.
    if (order === undefined || own === undefined || last?.id === asked || (before !== undefined && before < own)) {
      this.#view.push(result);
      return;
    }
    let at = from + 1;
    for (let next = this.#view[at]; next?.role === "tool"; next = this.#view[++at]) {
      const rank = order.placeOf(next.toolCallId) ?? -1;
      if (rank > own) break;
      if (rank === own) {
        this.#view[at] = result;
        return;
      }
    }
    this.#view.splice(at, 0, result);
  }

  #lookUp(id: MessageId): Asked {
    const before = this.#asked;
    if (before?.id === id && this.#view[before.at]?.id === id) return before;
    const at = this.#view.findLastIndex((message) => message.id === id);
    const asking = this.#view[at];
    this.#asked = { id, at, order: asking === undefined ? undefined : new CallOrder(asking) };
    return this.#asked;
  }

  /** Puts the summary in place of everything up to and with `upTo`. False, and nothing happens, when that message is gone. */
  compact(upTo: MessageId, summary: Message): boolean {
    const at = this.#view.findIndex((message) => message.id === upTo);
    if (at === -1) return false;
    this.#view.splice(0, at + 1, summary);
    this.#add(summary);
    this.#marks ??= new Set();
    this.#marks.add(summary.id);
    return true;
  }

  /** Messages that are not in the log. */
  get size(): number {
    return this.#delta.length;
  }

  /**
   * What to append to a log of `count` rows: the first `size` of what is new. Each summary learns its rows here, the latest moment at
   * which they are known.
   */
  delta(count: number, size = this.#delta.length): readonly Message[] {
    const marks = this.#marks;
    const added = size === this.#delta.length ? this.#delta : this.#delta.slice(0, size);
    if (marks === undefined) {
      this.#isLent ||= added === this.#delta;
      return added;
    }
    return added.map((message, index) => {
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

  /** The first `size` of the delta are in the log, behind `count` rows. What came while they were written is still new. */
  landed(count: number, size = this.#delta.length): void {
    if (size === 0) return;
    const added = size === this.#delta.length ? this.#delta : this.#delta.slice(0, size);
    // A copy takes no more room than its items.
    this.#rows = { before: this.#rows, from: count + 1, rows: added.slice() };
    if (this.#marks !== undefined) for (const { id } of added) this.#marks.delete(id);
    this.#delta = added === this.#delta ? [] : this.#delta.slice(size);
    this.#isLent = false;
  }
}
