import { type InferenceRequest, type Message, messageText, type RunId } from "@awaken/contract";
import { describe, expect, it } from "vitest";
import * as z from "zod";
import { definePlugin } from "../plugin/define-plugin.ts";
import type { InboxItem } from "../plugin/inbox.ts";
import { Queue } from "../stream/queue.ts";
import { decide, lifecycleTypes, runScripted } from "../testing/run-scripted.ts";
import { text, toolCall, toolCalls } from "../testing/script.ts";
import type { ThreadLog } from "../testing/thread-log.ts";
import { allow } from "../tool/allow.ts";
import { defineTool } from "../tool/define-tool.ts";
import { wait } from "../tool/reply.ts";
import { ask, block } from "../tool/verdict.ts";
import type { AddressedDecision } from "./decisions/addressed-decision.ts";

interface Payment {
  readonly amount: number;
  readonly key: string;
}

function refundTool(paid: Payment[]) {
  return defineTool({
    id: "refund",
    description: "",
    input: z.object({ amount: z.number() }),
    approve: ({ amount }) => (amount > 100 ? ask(`Refund ${amount}?`) : allow()),
    execute: ({ amount }, { idempotencyKey }) => {
      paid.push({ amount, key: idempotencyKey });
      return { refunded: amount };
    },
  });
}

const toolMessages = (messages: readonly Message[] | undefined) => (messages ?? []).filter((message) => message.role === "tool");

/** Each call of each assistant message has exactly one result, right behind it. */
function expectPaired(request: InferenceRequest | undefined): void {
  const messages = request?.messages ?? [];
  for (const [index, message] of messages.entries()) {
    if (message.role !== "assistant") continue;
    const calls = message.content.flatMap((part) => (part.type === "tool-call" ? [part.id] : []));
    const results = messages.slice(index + 1, index + 1 + calls.length).map((next) => (next.role === "tool" ? next.toolCallId : next.role));
    expect(results).toEqual(calls);
  }
}

describe("suspension", () => {
  it("core-execution 50: calls that wait leave the run waiting, each with a ticket that has what the model wrote and its mode", async () => {
    const responseSchema = { type: "object", properties: { color: { type: "string" } } };
    const asks = defineTool({
      id: "asks",
      description: "",
      input: z.object({ n: z.coerce.number().default(3) }),
      execute: ({ n }) =>
        wait({ action: "choose", message: `One of ${n}?`, parameters: { n }, responseSchema, resumeMode: "pass-decision-to-tool" }),
    });
    const paid: Payment[] = [];
    const calls = [
      { name: "refund", input: { amount: 500, note: "as the model wrote it" }, id: "z1" },
      { name: "refund", input: { amount: 5 }, id: "y2" },
      { name: "asks", input: { n: "7" }, id: "x3" },
      { name: "pick", input: { of: ["red"] }, id: "w4" },
    ];
    const { result, thread, events, model } = await runScripted({
      turns: [toolCalls(calls), text("never asked for")],
      tools: [refundTool(paid), asks],
      frontendTools: [{ id: "pick", description: "", parameters: { type: "object" } }],
    });
    expect(result).toMatchObject({ status: "waiting", termination: { type: "suspended" } });
    const { runId, threadId } = events.find((event) => event.type === "run-start") ?? {};
    const family = { rootRunId: runId, agentPath: [expect.any(String)] };
    const common = { runId, threadId, id: expect.any(String), updatedAt: expect.any(Number), ...family };
    const replay = { action: "approve", message: "Refund 500?", resumeMode: "replay-tool-call", canEdit: true };
    const passed = { resumeMode: "pass-decision-to-tool", canEdit: false };
    const choose = { action: "choose", message: "One of 7?", parameters: { n: 7 }, responseSchema, ...passed };
    expect(result.tickets).toEqual([
      { ...common, ...replay, toolCallId: "z1", toolName: "refund", input: { amount: 500, note: "as the model wrote it" } },
      { ...common, ...choose, toolCallId: "x3", toolName: "asks", input: { n: "7" } },
      expect.objectContaining({
        ...common,
        toolCallId: "w4",
        toolName: "pick",
        resumeMode: "use-decision-as-tool-result",
        input: { of: ["red"] },
      }),
    ]);
    expect(new Set(result.tickets.map(({ id }) => id)).size).toBe(3);
    expect(thread.run).toMatchObject({ status: "waiting", waiting: { reason: "suspended" } });
    expect(thread.tickets).toEqual(result.tickets);
    expect(paid.map(({ amount }) => amount)).toEqual([5]);
    expect(model?.requests).toHaveLength(1);
    expect(events.filter((event) => event.type === "run-end")).toHaveLength(1);
  });

  it("approve runs the tool with the original input", async () => {
    const paid: Payment[] = [];
    const tools = [refundTool(paid)];
    const first = await runScripted({ turns: [toolCall("refund", { amount: 500 }, { id: "c1" })], tools });
    const second = await runScripted({
      turns: [text("refunded")],
      tools,
      thread: first.thread,
      resume: first.result.runId,
      decisions: [decide("c1", { action: "approve" })],
    });
    expect(paid).toMatchObject([{ amount: 500 }]);
    expect(second.result).toMatchObject({ status: "done", text: "refunded", steps: 2 });
    expect(lifecycleTypes(second.events)).toEqual(["run-start", "tool-call-resumed", "step-start", "inference-end", "step-end", "run-end"]);
  });

  it("approve with an edited input runs the tool with it, checked again", async () => {
    const paid: Payment[] = [];
    const tools = [refundTool(paid)];
    const first = await runScripted({ turns: [toolCall("refund", { amount: 500 }, { id: "c1" })], tools });
    const resume = { tools, thread: first.thread, resume: first.result.runId };
    const bad = runScripted({ ...resume, decisions: [decide("c1", { action: "approve", input: { amount: "lots" } }, "d1")] });
    await expect(bad).rejects.toMatchObject({ code: "invalid_resume", message: expect.stringContaining("amount") });
    expect(first.thread.run?.status).toBe("waiting");
    expect(paid).toEqual([]);
  });

  it("an edited input that fits is used, and the ticket's input stays what the model wrote", async () => {
    const paid: Payment[] = [];
    const tools = [refundTool(paid)];
    const first = await runScripted({ turns: [toolCall("refund", { amount: 500 }, { id: "c1" })], tools });
    await runScripted({
      turns: [text("ok")],
      tools,
      thread: first.thread,
      resume: first.result.runId,
      decisions: [decide("c1", { action: "approve", input: { amount: 90 } })],
    });
    expect(paid).toMatchObject([{ amount: 90 }]);
    const call = first.thread.said.find((message) => message.role === "assistant")?.content[0];
    expect(call).toMatchObject({ type: "tool-call", input: { amount: 500 } });
  });

  it("core-execution 51: a decision finds its call by the suspension's id, and the call keeps its input", async () => {
    const seen: unknown[] = [];
    const tool = defineTool({
      id: "tool",
      description: "",
      input: z.object({ n: z.number() }),
      execute: (input, { resume }) => {
        seen.push([input, resume?.decision.action]);
        return resume === undefined ? wait({ action: `confirm-${input.n}` }) : "done";
      },
    });
    const first = await runScripted({
      turns: [toolCalls([1, 2].map((n) => ({ name: "tool", input: { n }, id: `c${n}` })))],
      tools: [tool],
    });
    expect(first.result.tickets.map((ticket) => ticket.action)).toEqual(["confirm-1", "confirm-2"]);
    await runScripted({
      tools: [tool],
      thread: first.thread,
      resume: first.result.runId,
      decisions: [decide(first.result.tickets[1]?.id ?? "", { action: "approve" })],
    });
    expect(seen).toEqual([
      [{ n: 1 }, undefined],
      [{ n: 2 }, undefined],
      [{ n: 2 }, "approve"],
    ]);
  });

  async function twoWaiting(paid: Payment[]) {
    const tools = [refundTool(paid)];
    const calls = [200, 300].map((amount, index) => ({ name: "refund", input: { amount }, id: `c${index + 1}` }));
    return { tools, turn: toolCalls(calls) };
  }

  it("core-execution 52: one decision of two replays its call, and the run keeps waiting for the other (durable)", async () => {
    const paid: Payment[] = [];
    const { tools, turn } = await twoWaiting(paid);
    const first = await runScripted({ turns: [turn], tools });
    const go = (decisions: readonly AddressedDecision[], turns = [text("both")].slice(0, 0)) =>
      runScripted({ turns, tools, thread: first.thread, resume: first.result.runId, decisions });
    const second = await go([decide("c2", { action: "approve" })]);
    expect(paid.map((payment) => payment.amount)).toEqual([300]);
    expect(second.result).toMatchObject({ status: "waiting", termination: { type: "suspended" } });
    expect(second.result.tickets.map((ticket) => ticket.toolCallId)).toEqual(["c1"]);
    const third = await go([decide("c1", { action: "approve" })], [text("both")]);
    expect(third.result).toMatchObject({ status: "done", text: "both" });
    expect(paid.map((payment) => payment.amount)).toEqual([300, 200]);
    expectPaired(third.model?.requests[0]);
  });

  it("core-execution 53: a tool that waits twice has two tickets and one final result", async () => {
    const tool = defineTool({
      id: "tool",
      description: "",
      input: z.object({}),
      execute: (_input, { resume }) => {
        if (resume === undefined) return wait({ action: "first", resumeMode: "pass-decision-to-tool" });
        if (resume.suspension.action === "first") return wait({ action: "second", resumeMode: "pass-decision-to-tool" });
        return resume.decision.action === "answer" ? { got: resume.decision.result } : "?";
      },
    });
    const first = await runScripted({ turns: [toolCall("tool", {}, { id: "c1" })], tools: [tool] });
    const resume = { tools: [tool], thread: first.thread, resume: first.result.runId };
    const second = await runScripted({
      ...resume,
      decisions: [decide(first.result.tickets[0]?.id ?? "", { action: "answer", result: 1 })],
    });
    expect(second.result.tickets.map((ticket) => ticket.action)).toEqual(["second"]);
    const late = runScripted({ ...resume, decisions: [decide(first.result.tickets[0]?.id ?? "", { action: "approve" }, "late")] });
    await expect(late).rejects.toMatchObject({ code: "ticket_not_open" });
    const decisions = [decide(second.result.tickets[0]?.id ?? "", { action: "answer", result: 2 })];
    const third = await runScripted({ ...resume, turns: [text("x")], decisions });
    const all = [...first.events, ...second.events, ...third.events];
    expect(all.filter((event) => event.type === "tool-call-end").map((event) => event.result)).toMatchObject([
      { suspension: { action: "first" } },
      { suspension: { action: "second" } },
    ]);
    expect(all.filter((event) => event.type === "tool-call-resumed")).toMatchObject([{ result: { got: 2 } }]);
    expectPaired(third.model?.requests[0]);
  });

  it("core-execution 54: a denial that comes again and again happens once, and the model reads it once", async () => {
    const paid: Payment[] = [];
    const tools = [refundTool(paid)];
    const calls = [
      { name: "refund", input: { amount: 500 }, id: "c1" },
      { name: "refund", input: { amount: 5 }, id: "c2" },
      { name: "refund", input: { amount: 600 }, id: "c3" },
    ];
    const first = await runScripted({ turns: [toolCalls(calls)], tools });
    const deny = decide("c1", { action: "deny", reason: "not on my watch" }, "d1");
    const resume = { tools, thread: first.thread, resume: first.result.runId };
    const rows = () => first.thread.said.flatMap((row) => (row.role === "tool" && row.toolCallId === "c1" ? [messageText(row)] : []));
    const second = await runScripted({ ...resume, decisions: [deny, deny] });
    expect(second.result).toMatchObject({ status: "waiting", tickets: [{ toolCallId: "c3" }] });
    const denied = rows();
    expect(denied.filter((row) => row === "Denied: not on my watch")).toHaveLength(1);
    const third = await runScripted({ ...resume, decisions: [deny] });
    expect(third.result).toMatchObject({ status: "waiting", tickets: [{ toolCallId: "c3" }] });
    const last = await runScripted({ ...resume, turns: [text("sorry")], decisions: [deny, decide("c3", { action: "approve" }, "d3")] });
    expect(last.result).toMatchObject({ status: "done", text: "sorry" });
    const over = await runScripted({ ...resume, turns: [text("still sorry")], decisions: [deny] });
    expect(rows()).toEqual(denied);
    const events = [...second.events, ...third.events, ...last.events, ...over.events];
    expect(events.filter((event) => event.type === "tool-call-resumed")).toMatchObject([
      { toolCallId: "c1", toolName: "refund", outcome: "denied", result: { action: "deny", reason: "not on my watch" } },
      { toolCallId: "c3", outcome: "succeeded" },
    ]);
    const told = toolMessages(last.model?.requests[0]?.messages);
    expect(told.map((message) => messageText(message))).toEqual(["Denied: not on my watch", '{"refunded":5}', '{"refunded":600}']);
    expectPaired(last.model?.requests[0]);
    expect(paid.map(({ amount }) => amount)).toEqual([5, 600]);
  });

  it("the same decision twice runs the tool once", async () => {
    const paid: Payment[] = [];
    const { tools, turn } = await twoWaiting(paid);
    const first = await runScripted({ turns: [turn], tools });
    const approve = [decide("c1", { action: "approve" }, "d1")];
    await runScripted({ tools, thread: first.thread, resume: first.result.runId, decisions: approve });
    const again = await runScripted({ tools, thread: first.thread, resume: first.result.runId, decisions: approve });
    expect(again.result.status).toBe("waiting");
    expect(paid).toHaveLength(1);
  });

  it("core-execution 55: a decision about an unknown or finished call is an error and changes nothing", async () => {
    const paid: Payment[] = [];
    const { tools, turn } = await twoWaiting(paid);
    const first = await runScripted({ turns: [turn], tools });
    const resume = { tools, thread: first.thread, resume: first.result.runId };
    const commits = first.thread.commits.length;
    const unknown = runScripted({
      ...resume,
      decisions: [decide("c1", { action: "approve" }), decide("nope", { action: "approve" })],
    });
    await expect(unknown).rejects.toMatchObject({ code: "ticket_not_found", message: "tool call or suspension nope not found" });
    expect(paid).toEqual([]);
    expect(first.thread.commits).toHaveLength(commits);
    await runScripted({ ...resume, decisions: [decide("c1", { action: "approve" }, "first")] });
    const finished = runScripted({ ...resume, decisions: [decide("c1", { action: "approve" }, "second")] });
    await expect(finished).rejects.toMatchObject({ code: "ticket_not_open" });
    expect(paid).toHaveLength(1);
  });

  it("a live decision about an unknown call is refused and the run keeps waiting", async () => {
    const paid: Payment[] = [];
    const { tools, turn } = await twoWaiting(paid);
    const { result } = await runScripted({
      turns: [turn],
      tools,
      onEvent({ type }, keep) {
        if (type !== "step-start") return;
        keep([decide("c1", { action: "approve" }), decide("nope", { action: "approve" })]);
        keep([]);
      },
    });
    expect(result).toMatchObject({ status: "waiting" });
    expect(paid).toEqual([]);
  });

  it("decisions that come before the suspension are taken at once", async () => {
    const paid: Payment[] = [];
    const { tools, turn } = await twoWaiting(paid);
    const { result } = await runScripted({
      turns: [turn, text("one of two")],
      tools,
      onEvent({ type }, keep) {
        if (type === "step-start") keep([decide("c1", { action: "approve" }), decide("c2", { action: "deny" })]);
      },
    });
    expect(result).toMatchObject({ status: "done", text: "one of two" });
    expect(paid.map((payment) => payment.amount)).toEqual([200]);
  });

  it("core-execution 56: news of the background starts no inference while the run waits, and is in the first request afterwards", async () => {
    const { tools, turn } = await twoWaiting([]);
    const inbox = new Queue<InboxItem>();
    const first = await runScripted({ turns: [turn], tools });
    inbox.push({ type: "task", event: { taskId: "bg_1", kind: "completed", result: 42 } });
    const resume = { tools, thread: first.thread, resume: first.result.runId, inbox };
    const second = await runScripted({ ...resume, inbox: new Queue(), decisions: [decide("c1", { action: "approve" })] });
    expect([second.model?.requests.length, second.result.status]).toEqual([0, "waiting"]);
    const { model } = await runScripted({ ...resume, turns: [text("ok"), text("ok")], decisions: [decide("c2", { action: "approve" })] });
    const last = model?.requests.at(-1)?.messages.at(-1);
    expect(last === undefined ? "" : messageText(last)).toBe(
      '<background-task-event kind="completed" task_id="bg_1">{"result":42}</background-task-event>',
    );
    for (const request of model?.requests ?? []) expectPaired(request);
  });

  it("core-execution 57: a new user message supersedes the call that waits; finished siblings stay, nothing is replayed", async () => {
    const paid: Payment[] = [];
    const tools = [refundTool(paid)];
    const first = await runScripted({
      turns: [
        toolCalls([
          { name: "refund", input: { amount: 10 }, id: "small" },
          { name: "refund", input: { amount: 900 }, id: "large" },
        ]),
      ],
      tools,
    });
    expect(paid.map((payment) => payment.amount)).toEqual([10]);
    const second = await runScripted({ turns: [text("fine")], tools, thread: first.thread, input: "never mind" });
    const request = second.model?.requests[0];
    expectPaired(request);
    expect(toolMessages(request?.messages).map((message) => message.role === "tool" && message.toolCallId)).toEqual(["small"]);
    expect(paid).toHaveLength(1);
    expect(second.result).toMatchObject({ status: "done", tickets: [] });
    const markers = second.thread.said.filter((message) => message.role === "tool" && message.visibility === "internal");
    expect(markers.map(messageText)).toEqual(["[tool call superseded]"]);
  });

  it("core-execution 58: after a resume there is one result per call, right behind its message", async () => {
    const paid: Payment[] = [];
    const { tools, turn } = await twoWaiting(paid);
    const first = await runScripted({ turns: [turn], tools });
    const second = await runScripted({
      turns: [toolCall("refund", { amount: 1 }), text("x")],
      tools,
      thread: first.thread,
      resume: first.result.runId,
      decisions: [decide("c1", { action: "approve" }), decide("c2", { action: "deny" })],
    });
    for (const request of second.model?.requests ?? []) expectPaired(request);
    const third = await runScripted({ turns: [text("y")], tools, thread: first.thread, input: "more" });
    expectPaired(third.model?.requests[0]);
  });

  it("core-execution 59: a frontend tool's result is the client's answer; no code of ours ran", async () => {
    const frontendTools = [{ id: "pick_color", description: "", parameters: { type: "object" } }];
    const first = await runScripted({ turns: [toolCall("pick_color", { of: ["red"] }, { id: "c1" })], frontendTools });
    expect(first.result.tickets).toMatchObject([
      { toolCallId: "c1", action: "tool:pick_color", resumeMode: "use-decision-as-tool-result", input: { of: ["red"] } },
    ]);
    const resume = { frontendTools, thread: first.thread, resume: first.result.runId };
    const approved = runScripted({ ...resume, decisions: [decide("c1", { action: "approve" }, "d0")] });
    await expect(approved).rejects.toMatchObject({ code: "invalid_resume" });
    const again = await runScripted({ turns: [toolCall("pick_color", { of: ["red"] }, { id: "c2" })], frontendTools });
    const second = await runScripted({
      turns: [text("blue it is")],
      frontendTools,
      thread: again.thread,
      resume: again.result.runId,
      decisions: [decide("c2", { action: "answer", result: { answer: "blue" } })],
    });
    expect(toolMessages(second.model?.requests[0]?.messages).map(messageText)).toEqual(['{"answer":"blue"}']);
    expect(second.events.find((event) => event.type === "tool-call-resumed")).toMatchObject({ result: { answer: "blue" } });
  });

  it("a block still wins on a replay and ends the run", async () => {
    const paid: Payment[] = [];
    const tools = [refundTool(paid)];
    const first = await runScripted({ turns: [toolCall("refund", { amount: 500 }, { id: "c1" })], tools });
    const gate = definePlugin({
      id: "gate",
      register(r) {
        r.gate(({ resume }) => (resume === undefined ? undefined : block("frozen account")));
      },
    });
    const { result } = await runScripted({
      tools,
      plugins: [gate],
      thread: first.thread,
      resume: first.result.runId,
      decisions: [decide("c1", { action: "approve" })],
    });
    expect(result.termination).toEqual({ type: "blocked", reason: "frozen account" });
    expect(paid).toEqual([]);
  });

  it("a gate that asks lets an approved call pass without knowing of resumes", async () => {
    let ran = 0;
    const tool = defineTool({ id: "tool", description: "", input: z.object({}), execute: () => ++ran });
    const gate = definePlugin({
      id: "gate",
      register(r) {
        r.gate(() => ask("sure?"));
      },
    });
    const init = { tools: [tool], plugins: [gate] };
    const first = await runScripted({ ...init, turns: [toolCall("tool", {}, { id: "c1" })] });
    const second = await runScripted({
      ...init,
      turns: [text("x")],
      thread: first.thread,
      resume: first.result.runId,
      decisions: [decide("c1", { action: "approve" })],
    });
    expect(second.result.status).toBe("done");
    expect(ran).toBe(1);
  });

  it("steps, usage and stop budgets go on when the same run is resumed", async () => {
    const tools = [refundTool([])];
    const spec = { maxSteps: 2 };
    const first = await runScripted({ turns: [toolCall("refund", { amount: 500 }, { id: "c1" })], tools, spec });
    const second = await runScripted({
      turns: [toolCall("refund", { amount: 1 }, { id: "c2" })],
      tools,
      spec,
      thread: first.thread,
      resume: first.result.runId,
      decisions: [decide("c1", { action: "approve" })],
    });
    expect(second.result).toMatchObject({ steps: 2, termination: { type: "stopped", code: "max-steps" } });
    expect(second.result.usage.totalTokens).toBe(30);
    const fresh = await runScripted({ turns: [text("new run")], tools, spec, thread: first.thread as ThreadLog, input: "again" });
    expect(fresh.result).toMatchObject({ steps: 1, termination: { type: "natural-end" } });
    expect(fresh.result.runId satisfies RunId).not.toBe(first.result.runId);
  });
});
