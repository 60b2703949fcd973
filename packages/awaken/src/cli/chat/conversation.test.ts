import {
  type AgentEvent,
  type JsonObject,
  messageId,
  NO_USAGE,
  runId,
  type Ticket,
  type ToolResult,
  threadId,
  ticketId,
  toolCallId,
} from "@awaken/contract";
import { describe, expect, it } from "vitest";
import type { Change } from "./block.ts";
import { blockText } from "./block-text.ts";
import { Conversation } from "./conversation.ts";

const T = threadId("t");
const R = runId("r");

const text = (delta: string): AgentEvent => ({ type: "text-delta", delta });
const ready = (id: string, name: string, input: object): AgentEvent => ({
  type: "tool-call-ready",
  toolCallId: toolCallId(id),
  toolName: name,
  input: { ...input },
  runsAt: "server",
  dynamic: false,
});
const done = (id: string, data: string): Extract<AgentEvent, { type: "tool-call-end" }> => ({
  type: "tool-call-end",
  toolCallId: toolCallId(id),
  toolName: "tool",
  messageId: messageId(`m-${id}`),
  outcome: "succeeded",
  result: { type: "success", data },
});
const step: AgentEvent = { type: "step-start", step: 1, messageId: messageId("m"), agentId: "a" };
const ended = (termination: Extract<AgentEvent, { type: "run-end" }>["termination"], tickets: readonly Ticket[] = []): AgentEvent => ({
  type: "run-end",
  threadId: T,
  runId: R,
  termination,
  tickets,
  result: { response: "", status: "done" },
  usage: NO_USAGE,
  usageByModel: [],
});
const ticket = (id: string): Ticket => ({
  id: ticketId(id),
  runId: R,
  threadId: T,
  toolCallId: toolCallId(id),
  toolName: "refund",
  input: { amount: 120 },
  action: "approve",
  resumeMode: "replay-tool-call",
  message: `Refund ${id}?`,
  updatedAt: 0,
});

function play(...events: readonly AgentEvent[]): Conversation {
  const conversation = new Conversation();
  conversation.begin(false);
  for (const event of events) conversation.apply(event);
  return conversation;
}

describe("a conversation", () => {
  it("joins deltas into one answer and closes it at the end", () => {
    const changes: Change["type"][] = [];
    const conversation = new Conversation(({ type }) => changes.push(type));
    for (const event of [step, text("Hel"), text("lo"), ended({ type: "natural-end" })]) conversation.apply(event);
    expect(conversation.blocks).toEqual([{ type: "answer", text: "Hello", isOpen: false }]);
    expect(changes).toEqual(["added", "changed", "changed"]);
  });

  it("a sequence that is split over deltas does not reach a block", () => {
    expect(play(text("a\u001b"), text("[3"), text("1mb")).blocks).toEqual([{ type: "answer", text: "ab", isOpen: true }]);
  });

  it("parallel calls go on in their own blocks, by progress, output and result", () => {
    const progress = (id: string, content: object): AgentEvent => ({
      type: "activity-snapshot",
      messageId: id,
      activityType: "tool-call-progress",
      content: { ...content },
    });
    const conversation = play(
      text("I look."),
      ready("c1", "weather", { city: "Oslo" }),
      ready("c2", "weather", { city: "Rome" }),
      progress("c2", { progress: 0.5, message: "half\u001b[2J way" }),
      { type: "tool-call-stream-delta", toolCallId: toolCallId("c1"), toolName: "weather", delta: "one\ntwo\n" },
    );
    expect(conversation.blocks.slice(1)).toMatchObject([
      { callId: "c1", input: '{"city":"Oslo"}', state: { type: "running", note: "two" } },
      { callId: "c2", input: '{"city":"Rome"}', state: { type: "running", note: "50% half way" } },
    ]);
    conversation.apply(done("c1", "21"));
    expect(conversation.blocks[1]).toMatchObject({ state: { type: "over", outcome: "succeeded", result: "21" } });
    conversation.apply(ended({ type: "cancelled" }));
    expect(conversation.blocks[2]).toMatchObject({ state: { type: "over", outcome: "cancelled" } });
    expect(conversation.blocks.at(-1)).toMatchObject({ type: "note", tone: "warning", text: "cancelled" });
  });

  it("an id that a vendor uses again means the last call", () => {
    const conversation = play(ready("c1", "a", {}), done("c1", "first"), ready("c1", "b", {}), done("c1", "second"));
    expect(conversation.blocks).toMatchObject([{ state: { result: "first" } }, { state: { result: "second" } }]);
  });

  it("cuts a long result, with a note, and never an answer that people read", () => {
    const conversation = play(ready("c1", "a", {}), done("c1", "x".repeat(5_000)), text("y".repeat(5_000)));
    expect(conversation.blocks[0]).toMatchObject({ state: { result: `${"x".repeat(1_500)}\n… cut: 3500 more characters` } });
    expect(conversation.blocks[1]).toMatchObject({ text: "y".repeat(5_000) });
  });

  it("an answer without an end is cut, and says so", () => {
    const conversation = play(text("y".repeat(99_999)), text("zzz"), text("zz"), ended({ type: "natural-end" }));
    expect(conversation.blocks[0]).toMatchObject({ text: `${"y".repeat(99_999)}z` });
    expect(conversation.blocks[1]).toMatchObject({ type: "note", text: "cut: 4 more characters" });
  });

  it("what was streamed before a reset is taken away, and what stood there before is not", () => {
    const conversation = play(text("first answer"), step, text("broken"));
    conversation.user("meanwhile", "sent");
    conversation.apply({ type: "stream-reset", reason: "the stream broke" });
    conversation.apply(text("whole"));
    expect(conversation.blocks).toMatchObject([{ text: "first answer" }, { type: "user", text: "meanwhile" }, { text: "whole" }]);
  });

  it("asks about tickets with numbers, and closes those that are gone", () => {
    const conversation = play(
      ready("c1", "refund", {}),
      ready("c2", "refund", {}),
      ended({ type: "suspended" }, [ticket("c1"), ticket("c2")]),
    );
    expect(conversation.tickets.map(({ number, ticket: { id } }) => [number, id])).toEqual([
      [1, "c1"],
      [2, "c2"],
    ]);
    expect(conversation.blocks[0]).toMatchObject({ state: { type: "waiting" } });
    conversation.decided("c1", "approved");
    conversation.apply({
      type: "tool-call-resumed",
      toolCallId: toolCallId("c1"),
      toolName: "a",
      messageId: messageId("m"),
      outcome: "succeeded",
      result: { ok: true },
    });
    conversation.apply(ended({ type: "suspended" }, [ticket("c2")]));
    expect(conversation.tickets.map(({ number }) => number)).toEqual([2]);
    expect(conversation.blocks[0]).toMatchObject({ state: { type: "over", outcome: "succeeded" } });
    conversation.ask([]);
    expect(conversation.tickets).toEqual([]);
  });

  it("tells a call that a person answered from one whose tool ran", () => {
    const outcomes = (["use-decision-as-tool-result", "replay-tool-call", "pass-decision-to-tool"] as const).map((resumeMode) => {
      const conversation = play(ready("c1", "a", {}), ended({ type: "suspended" }, [{ ...ticket("c1"), resumeMode }]));
      conversation.decided("c1", "answered");
      const call = { toolCallId: toolCallId("c1"), toolName: "a", messageId: messageId("m") };
      conversation.apply({ type: "tool-call-resumed", ...call, outcome: "succeeded", result: 1 });
      const [block] = conversation.blocks;
      return block === undefined ? "" : blockText(block);
    });
    expect(outcomes).toEqual(["* a {}\n  answered: 1", "* a {}\n  answered: 1", "* a {}\n  succeeded: 1"]);
  });

  it("says what became of a call, and says it once", () => {
    const failed = (code: string, message: string, metadata: JsonObject = {}) => {
      const result: ToolResult = { type: "error", code, message, metadata };
      const end: AgentEvent = { ...done("c1", ""), outcome: "failed", result };
      const [block] = play(ready("c1", "a", {}), end).blocks;
      return block === undefined ? "" : blockText(block).split("\n  ")[1];
    };
    expect(failed("cancelled", "Cancelled: the tool did not stop in time")).toBe("cancelled: the tool did not stop in time");
    expect(failed("denied", "Denied: too much", { rejected: true })).toBe("denied: too much");
    expect(failed("execution_failed", "Execution failed: no such file")).toBe("failed: no such file");
    expect(failed("timeout", "Timeout: no result within 5 ms")).toBe("failed: Timeout: no result within 5 ms");
    const [open] = play(ready("c1", "a", {}), ended({ type: "cancelled" })).blocks;
    expect(open === undefined ? "" : blockText(open)).toBe("* a {}\n  cancelled");
  });

  it("tells a refusal, a failure and a result of a resumed call", () => {
    type Resumed = Extract<AgentEvent, { type: "tool-call-resumed" }>;
    const resumed = (outcome: Resumed["outcome"], result: Resumed["result"]) =>
      play(ready("c1", "a", {}), {
        type: "tool-call-resumed",
        toolCallId: toolCallId("c1"),
        toolName: "a",
        messageId: messageId("m"),
        outcome,
        result,
      }).blocks[0];
    expect(resumed("denied", { action: "deny", reason: "no" })).toMatchObject({ state: { outcome: "denied", result: "no" } });
    expect(resumed("failed", { error: "boom" })).toMatchObject({ state: { outcome: "failed", result: "boom" } });
    expect(resumed("succeeded", { error: "boom" })).toMatchObject({ state: { outcome: "succeeded", result: '{"error":"boom"}' } });
  });

  it("an answer that is data is shown as data; what was said on the way stays text", () => {
    const conversation = new Conversation();
    conversation.begin(true);
    for (const event of [step, text("thinking"), ready("c1", "a", {}), done("c1", "1"), step, text('{"a":'), text("1}")])
      conversation.apply(event);
    expect(conversation.blocks.at(-1)).toEqual({ type: "draft", text: '{"a":1}' });
    const end = ended({ type: "natural-end" });
    if (end.type === "run-end") conversation.apply({ ...end, result: { response: "", status: "done", output: { a: 1 } } });
    expect(conversation.blocks).toMatchObject([
      { type: "answer", text: "thinking" },
      { type: "tool" },
      { type: "output", json: '{\n  "a": 1\n}' },
    ]);
  });

  it.each([
    [{ type: "error", message: "no\nkey", code: "inference_unauthorized" }, "error", "no key (inference_unauthorized)"],
    [{ type: "blocked", reason: "budget" }, "warning", "blocked: budget"],
    [{ type: "stopped", code: "max_steps" }, "warning", "stopped: max_steps"],
  ] as const)("an end of %j is one line", (termination, tone, line) => {
    expect(play(ended(termination)).blocks).toEqual([{ type: "note", tone, text: line }]);
  });

  it("counts tokens of every inference", () => {
    const usage = { ...NO_USAGE, totalTokens: 7 };
    const event: AgentEvent = { type: "inference-end", provider: "p", model: "m", usage, durationMs: 1, finishReason: "end-turn" };
    expect(play(event, event).tokens).toBe(14);
  });
});
