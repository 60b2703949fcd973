import { type Message, messageToolCalls, type UserMessage } from "@awaken/contract";
import { estimateMessage, estimateMessages } from "./estimate.ts";
import { countLeadingSystem } from "./opening.ts";
import { repairCalls } from "./repair.ts";
import { shortenQuestion } from "./shorten-question.ts";

export interface TruncationLimits {
  /** What all messages together may weigh. */
  readonly tokens: number;
  /** So many of the newest messages stay whatever they weigh; at least one, because no model answers to nothing. */
  readonly minRecent: number;
}

/** Where the unit that ends with the message at `last` begins: a message with calls and its results are one unit. */
function unitStart(messages: readonly Message[], last: number, first: number): number {
  let start = last;
  while (start > first && messages[start]?.role === "tool") start -= 1;
  const message = messages[start];
  if (message === undefined || start === last || messageToolCalls(message).length > 0) return start;
  return start + 1;
}

/** The first message to keep. Units that reach into the newest messages stay, older ones while they fit as a whole. */
function findCut(messages: readonly Message[], first: number, { tokens, minRecent }: TruncationLimits): number {
  const recent = messages.length - Math.max(1, minRecent);
  let room = tokens - estimateMessages(messages, 0, first);
  let cut = messages.length;
  while (cut > first) {
    const start = unitStart(messages, cut - 1, first);
    room -= estimateMessages(messages, start, cut);
    if (cut <= recent && room < 0) break;
    cut = start;
  }
  return cut;
}

/** Where the unit that begins at `start` ends. */
function unitEnd(messages: readonly Message[], start: number): number {
  let end = start + 1;
  while (messages[end]?.role === "tool") end += 1;
  return end;
}

function lastQuestion(messages: readonly Message[], first: number, end: number): UserMessage | undefined {
  for (let index = end - 1; index >= first; index--) {
    const message = messages[index];
    if (message?.role === "user" && message.visibility !== "internal") return message;
  }
  return undefined;
}

interface Cut {
  /** What the messages behind it are the answer to, when they do not say so themselves. */
  readonly question: UserMessage | undefined;
  readonly at: number;
}

/**
 * The user speaks first, also after a cut: answers are kept with the question that they belong to. For its sake older ones go; where
 * none may go, it is shortened.
 */
function keepQuestion(messages: readonly Message[], first: number, cut: number, { tokens, minRecent }: TruncationLimits): Cut {
  const question = lastQuestion(messages, first, cut);
  if (messages[cut]?.role === "user" || question === undefined) return { question: undefined, at: cut };
  const recent = messages.length - Math.max(1, minRecent);
  let room = tokens - estimateMessages(messages, 0, first) - estimateMessages(messages, cut) - estimateMessage(question);
  let at = cut;
  while (room < 0) {
    const next = unitEnd(messages, at);
    if (next > recent) return { question: shortenQuestion(question), at };
    room += estimateMessages(messages, at, next);
    at = next;
    if (messages[at]?.role === "user") return { question: undefined, at };
  }
  return { question, at };
}

/**
 * Leaves out the oldest messages behind the leading system ones until the rest fits. No call loses its result and no result its
 * call, also where that keeps more than the newest messages asked for, and no answer its question. A list that fits comes back itself.
 */
export function truncateMessages(messages: readonly Message[], limits: TruncationLimits): readonly Message[] {
  if (estimateMessages(messages) <= limits.tokens) return messages;
  const first = countLeadingSystem(messages);
  const cut = findCut(messages, first, limits);
  if (cut === first) return repairCalls(messages);
  const { question, at } = keepQuestion(messages, first, cut, limits);
  const asked = question === undefined ? [] : [question];
  return repairCalls([...messages.slice(0, first), ...asked, ...messages.slice(at)]);
}
