import { decisionId, dispatchId, messageId, runId, threadId, ticketId, toolCallId } from "../ids.ts";
import type { AssistantMessage, CompactionMark, Message, SystemMessage, ToolMessage, UserMessage } from "../message.ts";
import type { CreatedRun, RunActivation, RunRecord } from "../run.ts";
import type { Ticket } from "../suspension.ts";
import { NO_USAGE } from "../usage.ts";
import type { SequencedMessage } from "./effective-view.ts";
import { DEFAULT_DELIVERY, type DeliveryMode, type PendingRecord } from "./pending.ts";

// Small valid records for the tests of this package.

export const T1 = threadId("t1");
export const R1 = runId("r1");
export const R2 = runId("r2");

export const user = (id: string, text = id): UserMessage => ({ id: messageId(id), role: "user", content: [{ type: "text", text }] });

export function assistant(id: string, calls: readonly string[] = [], text = id): AssistantMessage {
  const parts = calls.map((call) => ({ type: "tool-call", id: toolCallId(call), name: "tool", input: {} }) as const);
  return { id: messageId(id), role: "assistant", content: [...(text === "" ? [] : [{ type: "text", text } as const]), ...parts] };
}

export function result(id: string, call: string, status: ToolMessage["status"] = "success"): ToolMessage {
  return { id: messageId(id), role: "tool", toolCallId: toolCallId(call), toolName: "tool", status, content: [{ type: "text", text: id }] };
}

export const retraction = (id: string, call: string): ToolMessage => ({ ...result(id, call, "error"), visibility: "internal" });

export const rewind = (id: string, fromSeq: number): Message => ({
  id: messageId(id),
  role: "system",
  visibility: "internal",
  content: [],
  metadata: { rewind: { fromSeq } },
});

export const summary = (id: string, compaction: CompactionMark): SystemMessage => ({
  id: messageId(id),
  role: "system",
  visibility: "internal",
  content: [{ type: "text", text: id }],
  metadata: { compaction },
});

export const log = (messages: readonly Message[]): readonly SequencedMessage[] =>
  messages.map((message, index) => ({ seq: index + 1, message }));

export const ACTIVATION: RunActivation = {
  intent: { type: "new-intent" },
  options: { frontendTools: [] },
  trace: { origin: "user", runMode: "foreground", adapter: "internal" },
};

export const created: CreatedRun = {
  schemaVersion: 2,
  status: "created",
  runId: R1,
  threadId: T1,
  agentId: "assistant",
  activation: ACTIVATION,
  input: { triggerMessageIds: [], selectedMessageIds: [] },
  createdAt: 1,
  updatedAt: 1,
  steps: 0,
  usage: NO_USAGE,
  decided: [],
};

export const ticket: Ticket = {
  id: ticketId("tk1"),
  runId: R1,
  threadId: T1,
  toolCallId: toolCallId("c1"),
  toolName: "refund",
  input: { amount: 90 },
  action: "approve",
  resumeMode: "replay-tool-call",
  updatedAt: 2,
};

type RunFields = Partial<Pick<CreatedRun, "runId" | "updatedAt" | "activation">> & { readonly ordinal?: number };

/** The same run in each of its states. */
export const runs = {
  created: (fields: RunFields = {}): RunRecord => ({ ...created, ordinal: 1, ...fields }),
  running: (fields: RunFields = {}): RunRecord => ({ ...created, ordinal: 1, status: "running", startedAt: 1, ...fields }),
  waiting: (fields: RunFields = {}): RunRecord => ({
    ...{ ...created, ordinal: 1, status: "waiting", startedAt: 1, waiting: { reason: "suspended", tickets: [ticket] } },
    ...fields,
  }),
  done: (fields: RunFields = {}): RunRecord => ({
    ...{ ...created, ordinal: 1, status: "done", finishedAt: 9, outcome: { termination: { type: "natural-end" }, response: "ok" } },
    ...fields,
  }),
} as const;

/** Every optional field of a waiting run is set, so that a schema that forgot one refuses it. */
export const fullRun: RunRecord = {
  ...created,
  ordinal: 3,
  status: "waiting",
  startedAt: 2,
  activation: {
    intent: { type: "hitl-resume", runId: R1 },
    options: {
      overrides: { upstreamModel: "m", temperature: 0.5, maxTokens: 10, topP: 1, reasoningEffort: { budget: 100 } },
      frontendTools: [{ id: "pick", description: "", parameters: {}, category: "ui", metadata: { a: 1 } }],
      output: { type: "object" },
    },
    trace: {
      ...{ origin: "subagent", runMode: "resume", adapter: "ai-sdk", parentThreadId: threadId("t0") },
      ...{ parentToolCallId: toolCallId("c0"), transportRequestId: "req", correlationId: "cor" },
    },
    resolutionId: "res-1",
  },
  input: { range: { fromSeq: 1, toSeq: 2 }, triggerMessageIds: [messageId("m1")], selectedMessageIds: [messageId("m2")] },
  output: { fromSeq: 3, toSeq: 3 },
  parentRunId: R2,
  rootRunId: R2,
  principal: { sub: "ana", roles: ["clerk"] },
  traceParent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
  dispatchId: dispatchId("d"),
  sessionId: "s",
  usage: { inputTokens: 1, outputTokens: 2, totalTokens: 3, cacheReadTokens: 1, cacheWriteTokens: 1, reasoningTokens: 1 },
  state: { schemaVersion: 1, revision: 4, extensions: { "budget.spend": { cents: 3 } }, versions: { "budget.spend": 2 } },
  decided: [{ ticketId: ticketId("tk0"), decisionId: decisionId("d0") }],
  waiting: {
    reason: "suspended",
    tickets: [{ ...ticket, message: "Refund?", parameters: { a: 1 }, responseSchema: { type: "object" }, agentPath: ["lead", "billing"] }],
    sinceDispatchId: dispatchId("d"),
    message: "waiting",
  },
};

export const pending = (id: string, mode: Partial<DeliveryMode> = {}, position = 1): PendingRecord => ({
  schemaVersion: 1,
  pendingId: messageId(id),
  threadId: T1,
  position,
  message: user(id),
  revision: 1,
  deliveryMode: { ...DEFAULT_DELIVERY, ...mode },
  createdAt: 1,
  updatedAt: 1,
});
