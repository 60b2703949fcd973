import { defineTool, fail } from "@awaken/runtime";
import { failure, text, toolCalls } from "@awaken/runtime/testing";
import { Registry } from "prom-client";
import { expect, test } from "vitest";
import * as z from "zod";
import { openWatched } from "./harness.test-support.ts";
import { memorySink } from "./memory-sink.ts";
import { prometheus } from "./prometheus.ts";
import { runtimeStats } from "./runtime-stats.ts";

const TURN = toolCalls([
  { name: "weather", input: { city: "Oslo" } },
  { name: "fail", input: {} },
  { name: "refund", input: { amount: 1 } },
]);

test("extensions 36: Prometheus counters rise by exactly one per inference with the Prometheus sink wired.", async () => {
  const register = new Registry();
  const sink = prometheus({ register });
  for (let run = 0; run < 2; run++) {
    const { runtime } = openWatched([TURN], [memorySink(), sink]);
    expect(await runtime.run({ agent: "assistant", input: "go" })).toMatchObject({ status: "waiting" });
  }
  const { runtime } = openWatched([failure("unauthorized")], [sink]);
  await runtime.run({ agent: "assistant", input: "go" });
  const lines = (await sink.metrics()).split("\n");
  const ok = 'model="gpt-5-mini",provider="openai"';
  for (const line of [
    `awaken_inference_requests_total{${ok},status="ok"} 2`,
    `awaken_inference_requests_total{${ok},status="error"} 1`,
    `awaken_inference_errors_total{${ok},class="unauthorized"} 1`,
    `awaken_inference_duration_seconds_count{${ok},status="ok"} 2`,
    `awaken_inference_tokens_total{${ok},type="input"} 20`,
    `awaken_inference_tokens_total{${ok},type="output"} 10`,
    `awaken_inference_tokens_total{${ok},type="total"} 30`,
    'awaken_tool_calls_total{tool="weather",status="ok"} 2',
    'awaken_tool_errors_total{tool="fail",class="execution_failed"} 2',
    'awaken_agent_suspensions_total{action="suspended",resume_mode="none"} 2',
    "awaken_agent_session_duration_seconds_count 3",
  ]) {
    expect(lines).toContain(line);
  }
  expect(lines.find((line) => line.startsWith("awaken_inference_cost_usd_total{"))).toMatch(/ 0\.00014/);
  expect(await register.getSingleMetricAsString("awaken_tool_calls_total")).not.toContain("refund");
});

test("counts what has no run of its own: delegations, tasks, handoffs, decisions", async () => {
  const register = new Registry();
  const sink = prometheus({ register });
  await sink.open?.({ log: { warn() {}, error() {} } });
  const context = { runId: "r", threadId: "t", agentId: "a", toolDescIds: [], skillIds: [] };
  sink.record({
    type: "delegation",
    context,
    at: 5,
    childRunId: "c",
    targetAgentId: "b",
    success: false,
    errorType: "x",
    durationMs: 2000,
  });
  sink.record({ type: "handoff", context, at: 5, fromAgentId: "a", toAgentId: "b" });
  sink.record({ type: "background-task", context, taskId: "k", taskType: "agent", status: "completed", createdAt: 1, completedAt: 2001 });
  sink.record({ type: "suspension", context, at: 9, toolCallId: "c", toolName: "n", action: "resumed", resumeMode: "cancel" });
  sink.record({ type: "evaluation-result", context, at: 1, name: "good" });
  const text = await sink.metrics();
  expect(text).toContain('awaken_agent_delegations_total{status="error"} 1');
  expect(text).toContain('awaken_agent_delegation_duration_seconds_sum{status="error"} 2');
  expect(text).toContain("awaken_agent_handoffs_total 1");
  expect(text).toContain('awaken_background_task_duration_seconds_sum{task_type="agent",status="completed"} 2');
  expect(text).toContain('awaken_agent_suspensions_total{action="resumed",resume_mode="cancel"} 1');
});

test("tools that a model makes up are one label, whatever it calls them; a known tool that finds nothing keeps its own", async () => {
  const register = new Registry();
  const sink = prometheus({ register });
  const stats = runtimeStats();
  const lookup = defineTool({ id: "lookup", description: "", input: z.object({}), execute: () => fail("not_found", "no such order") });
  const made = Array.from({ length: 20 }, (_, index) => ({ name: `made_up_${index}`, input: {} }));
  const { runtime } = openWatched([toolCalls([...made, { name: "lookup", input: {} }]), text("done")], [sink, stats], { tools: [lookup] });
  await runtime.run({ agent: "assistant", input: "go" });
  const lines = (await sink.metrics()).split("\n");
  expect(lines).toContain('awaken_tool_calls_total{tool="unknown",status="error"} 20');
  expect(lines).toContain('awaken_tool_errors_total{tool="lookup",class="not_found"} 1');
  expect(lines.join("\n")).not.toContain("made_up");
  expect(stats.snapshot("assistant").toolCallsByTool.map(({ tool, callCount }) => `${tool} ${callCount}`)).toEqual([
    "lookup 1",
    "unknown 20",
  ]);
});
