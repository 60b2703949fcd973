import {
  type AssistantMessage,
  type LedgerEntry,
  messageToolCalls,
  type PersistedState,
  type SequencedMessage,
  type ToolCall,
  toolCallStatesSchema,
  validateSync,
} from "@awaken/contract";
import type { LiveCall } from "../loop/live-call.ts";
import type { ThreadHistory } from "../loop/open-run.ts";
import { toolCallStates } from "../state/tool-call-states.ts";

/** Calls that are on their way with a decision: they are replayed with it. */
function decidedCalls(state: PersistedState | undefined): ReadonlySet<string> {
  const stored = validateSync(toolCallStatesSchema, state?.extensions[toolCallStates.name]);
  if (stored.type === "invalid") return new Set();
  return new Set(stored.value.calls.filter((call) => call.status === "resuming").map((call) => `${call.messageId} ${call.id}`));
}

/** Claims of the step that was cut off, and of no call that a decision brings back anyway. */
export function cutClaims(entries: readonly LedgerEntry[], state: PersistedState | undefined): readonly LedgerEntry[] {
  const claimed = entries.filter((entry) => entry.status === "claimed");
  if (claimed.length === 0) return claimed;
  const decided = decidedCalls(state);
  return claimed.filter((entry) => !decided.has(`${entry.messageId} ${entry.toolCallId}`));
}

const callsOf = (entry: SequencedMessage | undefined): readonly ToolCall[] => (entry === undefined ? [] : messageToolCalls(entry.message));

/** The view with a message in it that lost its calls, or is not there at all, because they have no results yet. */
function restore(view: readonly SequencedMessage[], seq: number, message: AssistantMessage): readonly SequencedMessage[] {
  const entry = { seq, message };
  const at = view.findIndex((each) => each.seq === seq);
  if (at !== -1) return view.with(at, entry);
  const behind = view.findIndex((each) => each.message.role !== "tool" && each.seq > seq);
  return behind === -1 ? [...view, entry] : view.toSpliced(behind, 0, entry);
}

/**
 * The step that was cut off after its turn was committed: its message is shown whole again, with the calls that have to be brought to
 * their end. When another run has used the thread since, these are the claimed ones alone; nobody waits for the others any more.
 */
export function restoreCut(
  view: readonly SequencedMessage[],
  logged: SequencedMessage,
  claims: readonly LedgerEntry[],
  isOvertaken: boolean,
): Pick<ThreadHistory, "messages" | "cutCalls"> {
  const { seq, message } = logged;
  if (message.role !== "assistant") return { messages: view, cutCalls: [] };
  const answered = new Set(callsOf(view.find((each) => each.seq === seq)).map((call) => call.id));
  const claimed = new Set(claims.filter((claim) => claim.messageId === message.id).map((claim) => claim.toolCallId));
  const open = messageToolCalls(message).filter(({ id }) => !answered.has(id) && (claimed.has(id) || !isOvertaken));
  const shown = new Set([...answered, ...open.map((call) => call.id)]);
  const content = message.content.filter((part) => part.type !== "tool-call" || part.executed !== undefined || shown.has(part.id));
  const calls = open.map((call): LiveCall => ({ call, messageId: message.id, resume: undefined, isReplay: true }));
  return { messages: restore(view, seq, { ...message, content }), cutCalls: calls };
}
