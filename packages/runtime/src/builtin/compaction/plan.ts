import { type Message, type MessageId, messageToolCalls, type ToolCallId } from "@awaken/contract";
import type { ContextPolicy } from "@awaken/contract/spec";
import { estimateMessages } from "../../prompt/estimate.ts";
import { summaryText } from "../../prompt/summary-message.ts";
import { renderTranscript } from "./transcript.ts";

/** Less than this is not worth a model call. */
const MIN_TOKENS = 1024;

export interface CompactionPlan {
  /** The last message to replace; the first is the first of the conversation. */
  readonly upTo: MessageId;
  /** What the replaced messages weigh. */
  readonly tokens: number;
  readonly transcript: string;
  /** Of the summary that is replaced with them, or empty. */
  readonly previousSummary: string;
}

/** Everything from the newest visible user message on stays, and at least what the mode asks for. */
function keptFrom(messages: readonly Message[], policy: ContextPolicy): number {
  const { compactionMode, compactionRawSuffixMessages, minRecentMessages } = policy;
  const suffix = compactionMode === "keep-recent-raw-suffix" ? compactionRawSuffixMessages : minRecentMessages;
  const limit = Math.max(0, messages.length - Math.max(1, suffix));
  const asked = messages.findLastIndex((message) => message.role === "user" && message.visibility !== "internal");
  return asked === -1 ? limit : Math.min(limit, asked);
}

/** The last place, not after `limit`, where no call waits for its result. */
export function safeCut(messages: readonly Message[], limit: number): number {
  const open = new Set<ToolCallId>();
  let cut = 0;
  for (let index = 0; index <= limit; index++) {
    const message = messages[index];
    if (message?.role !== "tool" && open.size === 0) cut = index;
    if (message === undefined) break;
    // A placeholder is no answer.
    if (message.role === "tool" && message.status !== "pending") open.delete(message.toolCallId);
    for (const call of messageToolCalls(message)) open.add(call.id);
  }
  return cut;
}

/** What to replace by a summary now; undefined when there is too little to gain, or when `isGivenUp` says so of the last message. */
export function planCompaction(
  messages: readonly Message[],
  policy: ContextPolicy,
  isGivenUp: (upTo: MessageId) => boolean = () => false,
): CompactionPlan | undefined {
  const cut = safeCut(messages, keptFrom(messages, policy));
  const last = messages[cut - 1];
  if (last === undefined || isGivenUp(last.id)) return undefined;
  const replaced = messages.slice(0, cut);
  const fresh = replaced.filter((message) => summaryText(message) === undefined);
  if (estimateMessages(fresh) < MIN_TOKENS) return undefined;
  const transcript = renderTranscript(fresh);
  if (transcript === "") return undefined;
  const summaries = replaced.map(summaryText).filter((text) => text !== undefined);
  return { upTo: last.id, tokens: estimateMessages(replaced), transcript, previousSummary: summaries.join("\n\n") };
}
