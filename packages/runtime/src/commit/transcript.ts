import {
  freezeMade,
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
export type Rows = { readonly before: Rows | undefined } & (
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

/** Summaries that wait for the commit to learn which rows they stand for. */
export interface Summaries {
  readonly ids: Set<MessageId>;
  /** The same, where each summary has its rows. */
  placed(added: readonly Message[], count: number): readonly Message[];
  landed(added: readonly Message[]): void;
}

/**
 * The conversation of one run: what the model sees, and what is not committed yet. Messages are only appended, except that
 * the result of a call of an earlier activation goes to its call.
 */
export class Transcript {
  /** What the model sees. Live: it grows while the run goes on. */
  readonly messages: Message[];
  /** Rows of the log as far as this run has seen them, in pieces, the last one first: nobody looks them up in most runs. */
  rows: Rows | undefined;
  /** The places of those that were looked up. */
  seqs: Map<MessageId, number> | undefined;
  summaries: Summaries | undefined;
  #added: Message[] = [];
  /** A commit has it, and may be read late: it stays as it is. */
  #isLent = false;
  /** The message whose calls were answered last. */
  #asked: Asked | undefined;

  constructor(history: readonly SequencedMessage[]) {
    this.messages = history.map((entry) => entry.message);
    if (history.length > 0) this.rows = { before: undefined, from: undefined, rows: history };
  }

  /** Messages that are not in the log. */
  get added(): readonly Message[] {
    return this.#added;
  }

  append(message: Message): void {
    this.messages.push(message);
    this.add(message);
  }

  /** For the log alone. Frozen: it is handed over to the store, which may keep it as it is, and from here on nobody changes it. */
  add(message: Message): void {
    if (this.#isLent) this.#added = [...this.#added];
    this.#isLent = false;
    freezeMade(message);
    this.#added.push(message);
  }

  /** Already in the log: only the model has not seen it. */
  show(entry: SequencedMessage): void {
    this.messages.push(entry.message);
    this.rows = { before: this.rows, from: entry.seq, rows: [entry.message] };
  }

  /**
   * The result of a call: it stands among those of its message, in call order, in the place of its placeholder if there is one, and the
   * call is shown with the input that it ran with.
   */
  answer(result: ToolMessage, asked: MessageId): void {
    this.add(result);
    const { at: from, order } = this.#lookUp(asked);
    const asking = this.messages[from];
    const last = this.messages.at(-1);
    const before = last?.role === "tool" ? order?.placeOf(last.toolCallId) : undefined;
    const own = order?.placeOf(result.toolCallId);
    // Whoever decided has loaded it.
    if (asking?.role === "assistant" && result.metadata?.edited !== undefined) this.messages[from] = seldom.here.showEdit(asking, result);
    // Nearly always it is the next one.
    if (order === undefined || own === undefined || last?.id === asked || (before !== undefined && before < own)) {
      this.messages.push(result);
      return;
    }
    let at = from + 1;
    for (let next = this.messages[at]; next?.role === "tool"; next = this.messages[++at]) {
      const rank = order.placeOf(next.toolCallId) ?? -1;
      if (rank > own) break;
      if (rank === own) {
        this.messages[at] = result;
        return;
      }
    }
    this.messages.splice(at, 0, result);
  }

  #lookUp(id: MessageId): Asked {
    const before = this.#asked;
    if (before?.id === id && this.messages[before.at]?.id === id) return before;
    const at = this.messages.findLastIndex((message) => message.id === id);
    const asking = this.messages[at];
    this.#asked = { id, at, order: asking === undefined ? undefined : new CallOrder(asking) };
    return this.#asked;
  }

  get size(): number {
    return this.#added.length;
  }

  /**
   * What to append to a log of `count` rows: the first `size` of what is new. Each summary learns its rows here, the latest moment at
   * which they are known.
   */
  delta(count: number, size = this.#added.length): readonly Message[] {
    const added = size === this.#added.length ? this.#added : this.#added.slice(0, size);
    if (this.summaries !== undefined) return this.summaries.placed(added, count);
    this.#isLent ||= added === this.#added;
    return added;
  }

  /** The first `size` of the delta are in the log, behind `count` rows. What came while they were written is still new. */
  landed(count: number, size = this.#added.length): void {
    if (size === 0) return;
    const added = size === this.#added.length ? this.#added : this.#added.slice(0, size);
    // A copy takes no more room than its items.
    this.rows = { before: this.rows, from: count + 1, rows: added.slice() };
    this.summaries?.landed(added);
    this.#added = added === this.#added ? [] : this.#added.slice(size);
    this.#isLent = false;
  }
}
