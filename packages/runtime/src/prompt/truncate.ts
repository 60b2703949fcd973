import { type Message, messageToolCalls } from "@awaken/contract";
import { countLeadingSystem } from "./context-messages.ts";
import { estimateMessages } from "./estimate.ts";
import { repairCalls } from "./repair.ts";

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

/**
 * Leaves out the oldest messages behind the leading system ones until the rest fits. No call loses its result and no result its
 * call, also where that keeps more than the newest messages asked for. A list that fits comes back itself.
 */
export function truncateMessages(messages: readonly Message[], limits: TruncationLimits): readonly Message[] {
  if (estimateMessages(messages) <= limits.tokens) return messages;
  const first = countLeadingSystem(messages);
  const cut = findCut(messages, first, limits);
  return repairCalls(cut === first ? messages : [...messages.slice(0, first), ...messages.slice(cut)]);
}
