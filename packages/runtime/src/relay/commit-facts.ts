import { type AgentEvent, isJsonObject, type Message, messageId, type RunId, type ToolMessage } from "@awaken/contract";
import type { StoredEvent } from "@awaken/contract/store";
import type { TurnPart } from "../inference/turn-part.ts";
import type { StepStart } from "../loop/step-progress.ts";
import type { Commit } from "./read-log.ts";

// What a commit says of its run.

type Ready = Extract<AgentEvent, { type: "tool-call-ready" }>;

/** Whether the run says it itself. Of others, its log has tickets and decisions; facts of earlier versions are its own. */
export function isOwn({ kind, payload }: StoredEvent, { run }: Commit): boolean {
  const said = kind === "ticket-open" ? payload["ticket"] : kind === "decision-taken" ? payload : undefined;
  const by = isJsonObject(said) ? said["runId"] : undefined;
  return by === undefined || by === run.runId;
}

/** A call that was not kept with its turn, as those of a run that was told to stop are not, is told like all others. */
export function withCalls(parts: readonly TurnPart[], ready: readonly Ready[]): readonly TurnPart[] {
  const kept = new Set(parts.map((part) => (part.type === "call" ? part.id : undefined)));
  if (ready.every(({ toolCallId }) => kept.has(toolCallId))) return parts;
  const all = [...parts];
  let next = all.length;
  for (const { toolCallId: id, toolName: name, input } of ready.toReversed()) {
    if (kept.has(id)) next = all.findIndex((part) => part.type === "call" && part.id === id);
    else all.splice(next, 0, { type: "call", id, name, input: JSON.stringify(input) });
  }
  return all;
}

/** What the run said in a commit, in its order. What it took in was said by others. */
export function turnsOf({ events, message, run }: Commit): Message[] {
  const accepted = new Set<unknown>();
  for (const { kind, payload } of events) if (kind === "input-accepted") for (const id of [payload["messageIds"]].flat()) accepted.add(id);
  const turns: Message[] = [];
  for (const { kind, payload } of events) {
    const { messageId: id } = payload;
    const found = kind === "message-committed" && typeof id === "string" ? message(id) : undefined;
    if (found !== undefined && !accepted.has(found.id) && isTurnOf(found, run.runId)) turns.push(found);
  }
  return turns;
}

/** The result of a call that was committed with it. */
export function answerIn({ events, message }: Commit, toolCallId: string): ToolMessage | undefined {
  for (const { kind, payload } of events) {
    const { messageId: id } = payload;
    const found = kind === "message-committed" && typeof id === "string" ? message(id) : undefined;
    if (found?.role === "tool" && found.toolCallId === toolCallId && found.status === "success") return found;
  }
  return undefined;
}

const isTurnOf = (message: Message, run: RunId): boolean =>
  message.role === "assistant" && message.metadata?.runId === run && message.metadata.stepIndex !== undefined;

/** How a step began whose turn is this, or in which nothing was said. */
export function startOf(step: number, turn: Message | undefined, run: Commit["run"]): StepStart {
  const unsaid = step === 1 && run.answerId !== undefined ? run.answerId : messageId(`${run.runId}:step-${step}`);
  return { type: "step-start", step, messageId: turn?.id ?? unsaid, agentId: turn?.metadata?.senderAgentId ?? run.agentId };
}
