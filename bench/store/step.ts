import {
  type Message,
  messageId,
  NO_USAGE,
  type RunId,
  type RunProjection,
  runId,
  type ThreadId,
  threadId,
  toolCallId,
} from "@awaken/contract";
import type { EventAppend, ThreadCommit } from "@awaken/contract/store";

// A typical step: the model asks for a tool, the tool answers. Two messages, the run, the thread's state, six events.

const CALL = toolCallId("call_8Hq2mZ");
const WORDS = "The invoice of March was paid twice, so the second payment goes back to the card that it came from. ";

let ids = 0;
/** As long as a UUID, and rising as a time-ordered one does. */
const nextId = (kind: string): string => `0192f3a4-${kind}-7000-8000-${String(ids++).padStart(12, "0")}`;

/** One thread with one run, step by step. */
export interface Conversation {
  readonly threadId: ThreadId;
  readonly runId: RunId;
  steps: number;
}

export const startConversation = (): Conversation => ({ threadId: threadId(nextId("aaaa")), runId: runId(nextId("bbbb")), steps: 0 });

/** What the model and the tool say in each step, for others to store the same. */
export const STEP_TEXTS = { toolName: "refund", said: WORDS.repeat(2), reason: WORDS, result: WORDS.repeat(4) };

export const stepInput = (stepIndex: number) => ({ invoice: `2026-03-${stepIndex}`, cents: 12_900, reason: STEP_TEXTS.reason });

function messagesOf(run: RunId, stepIndex: number): readonly Message[] {
  const metadata = { runId: run, stepIndex };
  return [
    {
      id: messageId(nextId("cccc")),
      role: "assistant",
      metadata,
      content: [
        { type: "text", text: STEP_TEXTS.said },
        { type: "tool-call", id: CALL, name: STEP_TEXTS.toolName, input: stepInput(stepIndex) },
      ],
    },
    {
      id: messageId(nextId("cccc")),
      role: "tool",
      toolCallId: CALL,
      toolName: STEP_TEXTS.toolName,
      status: "success",
      metadata,
      content: [{ type: "text", text: STEP_TEXTS.result }],
    },
  ];
}

function runOf({ threadId: thread, runId: run, steps }: Conversation, now: number): RunProjection {
  return {
    schemaVersion: 2,
    status: "running",
    runId: run,
    threadId: thread,
    agentId: "billing",
    activation: {
      intent: { type: "new-intent" },
      options: { frontendTools: [] },
      trace: { origin: "user", runMode: "foreground", adapter: "ai-sdk" },
    },
    input: { triggerMessageIds: [], selectedMessageIds: [] },
    output: { fromSeq: 1, toSeq: 2 * steps + 2 },
    createdAt: 1,
    startedAt: 1,
    updatedAt: now,
    steps,
    usage: NO_USAGE,
    decided: [],
    state: { schemaVersion: 1, revision: steps, extensions: { "stop.stats": { stepCount: steps, totalInputTokens: 90 * steps } } },
  };
}

function eventOf({ threadId: thread, runId: run }: Conversation, kind: string, step: number): EventAppend {
  const payload = { step, callId: CALL, text: WORDS };
  return { draft: { schemaVersion: 1, threadId: thread, runId: run, kind, payload, visibility: "public", origin: "runtime" } };
}

const KINDS = ["step-start", "inference-end", "tool-call-ready", "tool-call-end", "message-committed", "step-end"];

export function nextStep(conversation: Conversation): ThreadCommit {
  const step = conversation.steps++;
  const { threadId: thread, runId: run } = conversation;
  return {
    threadId: thread,
    runId: run,
    messageDelta: { messages: messagesOf(run, step), expectedMessageCount: 2 * step },
    run: runOf({ ...conversation, steps: step }, Date.now()),
    threadState: { schemaVersion: 1, revision: step, extensions: { "billing.case": { open: true, step, note: WORDS } } },
    events: KINDS.map((kind) => eventOf(conversation, kind, step)),
  };
}

/** The rows of a step as a bare table would keep them: key and JSON. */
export function bareRows(commit: ThreadCommit): readonly (readonly [string, string])[] {
  const rows: readonly unknown[] = [
    ...(commit.messageDelta?.messages ?? []),
    commit.run,
    commit.threadState,
    ...(commit.events ?? []).map((event) => event.draft),
  ];
  return rows.map((row) => [nextId("dddd"), JSON.stringify(row)]);
}
