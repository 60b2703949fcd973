import type { AssistantContent } from "../content.ts";
import type { MessageId, RunId, ToolCallId } from "../ids.ts";
import { freezeJson } from "../json.ts";
import {
  type AssistantMessage,
  type CompactionMark,
  type EditedInput,
  type Message,
  messageToolCalls,
  type RewindMark,
  type ToolMessage,
} from "../message.ts";

/** A message with its place in the log. */
export interface SequencedMessage {
  readonly seq: number;
  readonly message: Message;
}

/**
 * What a model may see of a log, given in log order (or as an earlier result of this function): summaries stand for the rows that
 * they cover, what a rewind took back is gone, each call has exactly one result right behind its message and the input that it ran with, and nothing retracted or
 * unanswered is left.
 */
export function effectiveMessages(log: readonly SequencedMessage[]): readonly SequencedMessage[] {
  return pairCalls(foldSummaries(takeBack(log)));
}

/** A call that is still open this many rows later is taken for lost: should its result come after all, the view is made anew. */
const MAX_TAIL = 64;

/**
 * The effective view of a log that only grows, at the cost of what is added. It holds rows that are never changed: whoever shares them
 * freezes them.
 */
export class GrowingView {
  /** Rows that nothing but a late result or a summary would change. */
  readonly #fixed: SequencedMessage[] = [];
  /** Rows from the last message on whose calls are not all answered. */
  #tail: readonly SequencedMessage[] = [];
  #tailView: readonly SequencedMessage[] = [];
  /** Summaries stand for rows up to here. */
  readonly #reach: number;

  /** Of the rows from `foldedUpTo` on. */
  constructor(log: readonly SequencedMessage[]) {
    let reach = 0;
    const kept = takeBack(log);
    for (const { message } of kept) reach = Math.max(reach, markOf(message)?.toSeq ?? 0);
    this.#reach = reach;
    this.#add(foldSummaries(kept));
  }

  /** `effectiveMessages` of the whole log, in an array that is the caller's own. */
  get messages(): readonly SequencedMessage[] {
    return this.#tailView.length === 0 ? this.#fixed.slice() : [...this.#fixed, ...this.#tailView];
  }

  /** Adds the rows that come next. False, and nothing changes, when rows further back look different with them: then a new view is due. */
  append(added: readonly SequencedMessage[]): boolean {
    if (added.length === 0) return true;
    const rows = this.#tail.length === 0 ? added : [...this.#tail, ...added];
    if (!this.#isPlain(added) || !areOwnResults(rows)) return false;
    this.#add(rows);
    return true;
  }

  #add(rows: readonly SequencedMessage[]): void {
    const start = openFrom(rows);
    for (const entry of pairCalls(rows.slice(0, start))) this.#fixed.push(entry);
    this.#tail = rows.slice(start);
    this.#tailView = pairCalls(this.#tail);
  }

  #isPlain(added: readonly SequencedMessage[]): boolean {
    return added.every(({ seq, message }) => seq > this.#reach && markOf(message) === undefined && rewindOf(message) === undefined);
  }
}

/** Where the last message with calls stands, if one of them is open and all results behind it are its own; else the end. */
function openFrom(rows: readonly SequencedMessage[]): number {
  for (let index = rows.length - 1; index >= Math.max(0, rows.length - MAX_TAIL); index--) {
    const entry = rows[index];
    if (entry === undefined || messageToolCalls(entry.message).length === 0) continue;
    const tail = rows.slice(index);
    const isOver = readFates(tail)
      .get(entry)
      ?.every((fate) => fate.isRetracted || !isPending(fate.result));
    return isOver || !areOwnResults(tail) ? rows.length : index;
  }
  return rows.length;
}

/** Every result among the rows has its call before it, among the rows too. */
function areOwnResults(rows: readonly SequencedMessage[]): boolean {
  const asked = new Map<ToolCallId, Message>();
  for (const { message } of rows) {
    if (message.role !== "tool") {
      for (const call of messageToolCalls(message)) asked.set(call.id, message);
      continue;
    }
    const by = asked.get(message.toolCallId);
    if (by === undefined || !isSameRun(by.metadata?.runId, message.metadata?.runId)) return false;
    if ((message.metadata?.callMessageId ?? by.id) !== by.id) return false;
  }
  return true;
}

/** Whoever does not name a run may be of any. */
const isSameRun = (a: RunId | undefined, b: RunId | undefined): boolean => a === undefined || b === undefined || a === b;

/**
 * The last row that the widest summary from row 1 stands for, 0 without one. A view needs only the rows after it: the summary itself
 * is among them, and every other summary that comes before it is contained in it. `before` is what the rows in front of `log` gave. A
 * rewind into what is folded gives 0: which summary holds now, only the rows can tell.
 */
export function foldedUpTo(log: Iterable<Message>, before = 0): number {
  let last = before;
  for (const message of log) {
    if ((rewindOf(message)?.fromSeq ?? Number.POSITIVE_INFINITY) <= last) last = 0;
    const mark = markOf(message);
    if (mark?.fromSeq === 1) last = Math.max(last, mark.toSeq);
  }
  return last;
}

interface Fold extends CompactionMark {
  readonly summary: SequencedMessage;
}

const markOf = (message: Message): CompactionMark | undefined => (message.role === "tool" ? undefined : message.metadata?.compaction);

const rewindOf = (message: Message): RewindMark | undefined => (message.role === "tool" ? undefined : message.metadata?.rewind);

/**
 * Without the rows that a rewind took back, and without the rewinds. A summary stands where its rows stand, so it goes when it reaches
 * into what was taken back, and stays when it does not, wherever its own row is.
 */
function takeBack(log: readonly SequencedMessage[]): readonly SequencedMessage[] {
  const rewinds: { readonly seq: number; readonly fromSeq: number }[] = [];
  for (const { seq, message } of log) {
    const rewind = rewindOf(message);
    if (rewind !== undefined) rewinds.push({ seq, fromSeq: rewind.fromSeq });
  }
  if (rewinds.length === 0) return log;
  return log.filter(({ seq, message }) => {
    const place = markOf(message)?.toSeq ?? seq;
    return rewindOf(message) === undefined && !rewinds.some((rewind) => place >= rewind.fromSeq && seq < rewind.seq);
  });
}

/** Marks that no other mark contains, by their start; of two equal ones the later summary. Their ends rise too. */
function widestFolds(log: readonly SequencedMessage[]): readonly Fold[] {
  const folds: Fold[] = [];
  for (const entry of log) {
    const mark = markOf(entry.message);
    if (mark !== undefined) folds.push({ fromSeq: mark.fromSeq, toSeq: mark.toSeq, summary: entry });
  }
  folds.sort((a, b) => a.fromSeq - b.fromSeq || b.toSeq - a.toSeq || b.summary.seq - a.summary.seq);
  let reach = 0;
  return folds.filter((fold) => {
    if (fold.toSeq <= reach) return false;
    reach = fold.toSeq;
    return true;
  });
}

function isCovered(folds: readonly Fold[], seq: number): boolean {
  let low = 0;
  let high = folds.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((folds[middle]?.fromSeq ?? 0) <= seq) low = middle + 1;
    else high = middle;
  }
  return (folds[low - 1]?.toSeq ?? 0) >= seq;
}

function foldSummaries(log: readonly SequencedMessage[]): readonly SequencedMessage[] {
  const folds = widestFolds(log);
  if (folds.length === 0) return log;
  const view: SequencedMessage[] = [];
  let next = 0;
  for (const entry of log) {
    const { message, seq } = entry;
    if (markOf(message) !== undefined) continue;
    // A result moves to its call, so its place says nothing about where a summary belongs.
    if (message.role !== "tool") {
      for (let fold = folds[next]; fold !== undefined && fold.fromSeq <= seq; fold = folds[++next]) view.push(fold.summary);
    }
    if (!isCovered(folds, seq)) view.push(entry);
  }
  for (const fold of folds.slice(next)) view.push(fold.summary);
  return view;
}

/** What became of one call. */
interface Fate {
  readonly messageId: MessageId;
  readonly runId: RunId | undefined;
  /** Of the nearest call before it with the same id. */
  readonly before: Fate | undefined;
  result: SequencedMessage | undefined;
  edited: EditedInput | undefined;
  isRetracted: boolean;
}

/**
 * A result belongs to the call of the message that it names, and else to the nearest call before it with that id, because vendors number their calls anew in each turn; to the nearest one of
 * its own run, if there is one, because a run that was cut off may end after another one has used the thread.
 */
function fateOf(message: ToolMessage, nearest: Fate | undefined): Fate | undefined {
  const { runId, callMessageId } = message.metadata ?? {};
  for (let fate = nearest; fate !== undefined; fate = fate.before) {
    if (callMessageId === undefined ? isSameRun(fate.runId, runId) : fate.messageId === callMessageId) return fate;
  }
  return callMessageId === undefined ? nearest : undefined;
}

function readFates(log: readonly SequencedMessage[]): ReadonlyMap<SequencedMessage, readonly Fate[]> {
  const fates = new Map<SequencedMessage, readonly Fate[]>();
  const nearest = new Map<ToolCallId, Fate>();
  for (const entry of log) {
    const { message } = entry;
    if (message.role === "tool") {
      const fate = fateOf(message, nearest.get(message.toolCallId));
      if (fate === undefined) continue;
      if (message.visibility === "internal") {
        fate.isRetracted = true;
        continue;
      }
      if (message.status === "pending" && !isPending(fate.result)) continue;
      fate.result = entry;
      // The edit of a call that waited once more stays.
      fate.edited = message.metadata?.edited ?? fate.edited;
      continue;
    }
    const calls = messageToolCalls(message);
    if (calls.length === 0) continue;
    const own = calls.map(({ id }) => {
      const fate: Fate = {
        ...{ messageId: message.id, runId: message.metadata?.runId, before: nearest.get(id) },
        ...{ result: undefined, edited: undefined, isRetracted: false },
      };
      nearest.set(id, fate);
      return fate;
    });
    fates.set(entry, own);
  }
  return fates;
}

/** A placeholder gives way to whatever comes later; a real result only to a real one. */
function isPending(result: SequencedMessage | undefined): boolean {
  return result === undefined || (result.message.role === "tool" && result.message.status === "pending");
}

const isKept = (fate: Fate): boolean => fate.result !== undefined && !fate.isRetracted;

/** Its call is shown as it was asked for. */
const isPlain = (fate: Fate): boolean => isKept(fate) && fate.edited === undefined;

function pairCalls(log: readonly SequencedMessage[]): readonly SequencedMessage[] {
  const fates = readFates(log);
  const view: SequencedMessage[] = [];
  for (const entry of log) {
    const { message } = entry;
    if (message.role === "tool") continue;
    const own = fates.get(entry);
    if (message.role !== "assistant" || own === undefined) {
      view.push(entry);
      continue;
    }
    if (own.every(isPlain)) view.push(entry);
    else {
      const content = showCalls(message, own);
      if (!isHollow(content)) view.push(frozen({ ...entry, message: { ...message, content } }));
    }
    for (const fate of own) if (fate.result !== undefined && !fate.isRetracted) view.push(fate.result);
  }
  return view;
}

/** `fates` are those of the message's own calls, in order. */
function showCalls(message: AssistantMessage, fates: readonly Fate[]): readonly AssistantContent[] {
  let index = 0;
  return message.content.flatMap((part): AssistantContent[] => {
    if (part.type !== "tool-call" || part.executed !== undefined) return [part];
    const fate = fates[index++];
    if (fate === undefined || !isKept(fate)) return [];
    return [fate.edited === undefined ? part : { ...part, input: fate.edited.input }];
  });
}

/** The message as the view has it once one of its calls has this result: with the input that was put in the place of the model's. */
export function showEdit(message: AssistantMessage, { toolCallId, metadata }: ToolMessage): AssistantMessage {
  const edited = metadata?.edited;
  if (edited === undefined) return message;
  const content = message.content.map((part) =>
    part.type === "tool-call" && part.executed === undefined && part.id === toolCallId ? { ...part, input: edited.input } : part,
  );
  return frozen({ ...message, content });
}

/** A view outlives the reader that it was made for. */
function frozen<T>(made: T): T {
  freezeJson(made);
  return made;
}

/** Nothing that a model said is left: reasoning alone is refused by vendors. */
function isHollow(content: readonly AssistantContent[]): boolean {
  return content.every((part) => part.type === "reasoning" || (part.type === "text" && part.text === ""));
}
