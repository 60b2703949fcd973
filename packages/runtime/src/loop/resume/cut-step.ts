import {
  type AssistantContent,
  type AssistantMessage,
  messageToolCalls,
  type PersistedState,
  type RunId,
  type ToolCallId,
} from "@awaken/contract";
import type { LedgerEntry, SequencedMessage } from "@awaken/contract/store";
import { storedCalls } from "../../state/tool-call-states.ts";
import type { ThreadHistory } from "../activation.ts";
import type { LiveCall } from "../live-call.ts";

/** Claims of the step that was cut off, and of no call that a decision brings back anyway. */
export function cutClaims(entries: readonly LedgerEntry[], state: PersistedState | undefined): readonly LedgerEntry[] {
  const claimed = entries.filter((entry) => entry.status === "claimed");
  if (claimed.length === 0) return claimed;
  const decided = storedCalls(state).filter((call) => call.status === "resuming");
  return claimed.filter((entry) => !decided.some((call) => call.messageId === entry.messageId && call.id === entry.toolCallId));
}

/** What came to the log behind the message that was cut off. */
interface Aftermath {
  /** Another run has used the thread since: nobody waits for the rest of the step any more. */
  readonly isOvertaken: boolean;
  /** Calls of the message that somebody gave up. */
  readonly retracted: ReadonlySet<ToolCallId>;
}

function readAftermath(later: readonly SequencedMessage[], runId: RunId): Aftermath {
  const retracted = new Set<ToolCallId>();
  const reused = new Set<ToolCallId>();
  let isOvertaken = false;
  for (const { message } of later) {
    if (message.role !== "tool") for (const { id } of messageToolCalls(message)) reused.add(id);
    else if (message.visibility === "internal" && !reused.has(message.toolCallId)) retracted.add(message.toolCallId);
    if (message.metadata?.runId !== undefined && message.metadata.runId !== runId) isOvertaken = true;
  }
  return { isOvertaken, retracted };
}

const isSummary = ({ message }: SequencedMessage): boolean => message.role !== "tool" && message.metadata?.compaction !== undefined;

/** The view with a message in it that lost its calls, or is not there at all, because they have no results yet. */
function restore(view: readonly SequencedMessage[], entry: SequencedMessage): readonly SequencedMessage[] {
  const at = view.findIndex((each) => each.seq === entry.seq);
  if (at !== -1) return view.with(at, entry);
  const behind = view.findIndex((each) => each.message.role !== "tool" && each.seq > entry.seq && !isSummary(each));
  return behind === -1 ? [...view, entry] : view.toSpliced(behind, 0, entry);
}

export interface CutMessage {
  readonly seq: number;
  readonly message: AssistantMessage;
  readonly claims: readonly LedgerEntry[];
  /** Rows of the log behind it. */
  readonly later: readonly SequencedMessage[];
}

/** A call that was claimed has the input of its claim: that is what may have happened. */
function liveCalls({ message, claims }: CutMessage, isOpen: (id: ToolCallId) => boolean): readonly LiveCall[] {
  const inputs = new Map(claims.map((claim) => [claim.toolCallId, claim.input]));
  return messageToolCalls(message).flatMap(({ id, name, input }): LiveCall[] => {
    if (!isOpen(id)) return [];
    return [{ call: { id, name, input: inputs.get(id) ?? input }, messageId: message.id, resume: undefined, isReplay: true }];
  });
}

/**
 * A step that was cut off after its turn was committed: its message is shown whole again, with the calls that have to be brought to
 * their end. Those that were not claimed have not run; when the thread went on without them, they are left out.
 */
export function restoreCut(view: readonly SequencedMessage[], cut: CutMessage, runId: RunId): Pick<ThreadHistory, "messages" | "cutCalls"> {
  const { seq, message, claims } = cut;
  const { isOvertaken, retracted } = readAftermath(cut.later, runId);
  const shown = view.find((each) => each.seq === seq);
  const answered = new Map(shown === undefined ? [] : messageToolCalls(shown.message).map((call) => [call.id, call]));
  const claimed = new Set(claims.map((claim) => claim.toolCallId));
  const isOpen = (id: ToolCallId) => !answered.has(id) && !retracted.has(id) && (claimed.has(id) || !isOvertaken);
  const cutCalls = liveCalls(cut, isOpen);
  if (cutCalls.length === 0) return { messages: view, cutCalls };
  // Calls that have their results are shown as they ran.
  const content = message.content.flatMap((part): AssistantContent[] => {
    if (part.type !== "tool-call" || part.executed !== undefined) return [part];
    const known = answered.get(part.id);
    return known !== undefined ? [known] : isOpen(part.id) ? [part] : [];
  });
  return { messages: restore(view, { seq, message: { ...message, content } }), cutCalls };
}
