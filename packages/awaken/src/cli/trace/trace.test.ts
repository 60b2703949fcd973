import { join } from "node:path";
import { type AgentEvent, eventId, runId, threadId } from "@awaken/contract";
import type { StoredEvent } from "@awaken/contract/store";
import { eventCursor } from "@awaken/contract/store";
import { ask, defineTool } from "@awaken/runtime";
import { scripted, text, toolCall } from "@awaken/runtime/testing";
import { sqliteStore } from "@awaken/stores/sqlite";
import { afterAll, describe, expect, it } from "vitest";
import * as z from "zod";
import { createRuntime } from "../../create-runtime.ts";
import { cli, Folders, jsonLines } from "../test-cli.ts";
import { drawTrace, timeSpan } from "./draw-trace.ts";
import { readTrace } from "./read-trace.ts";

const folders = new Folders();
afterAll(() => folders[Symbol.dispose]());

const usage = { inputTokens: 10, outputTokens: 5, totalTokens: 15 };
let count = 0;
const fact = (createdAt: number, kind: string, payload: StoredEvent["payload"]): StoredEvent => {
  count += 1;
  return {
    ...{ schemaVersion: 1, kind, payload, visibility: "public", origin: "runtime", createdAt },
    threadId: threadId("t"),
    runId: runId("root"),
    eventId: eventId(`e${count}`),
    cursors: { thread: eventCursor(String(count)), run: eventCursor(String(count)) },
  };
};
const answered = (durationMs: number): StoredEvent["payload"] => ({
  provider: "p",
  model: "m",
  usage,
  durationMs,
  finishReason: "tool-use",
});
const outcome: Extract<AgentEvent, { type: "child-end" }>["outcome"] = { status: "done", response: "" };
const DAY = 86_400_000;

const EVENTS = [
  fact(0, "run-started", {}),
  fact(1000, "tool-call-ready", { toolCallId: "c1", toolName: "agent_run_refunds" }),
  fact(1000, "tool-call-ready", { toolCallId: "c2", toolName: "weather" }),
  fact(1000, "inference-complete", answered(1000)),
  fact(1100, "child-start", { runId: "child", threadId: "t2", agentId: "refunds", agentPath: [], toolCallId: "c1" }),
  fact(1500, "tool-call-done", { toolCallId: "c2", toolName: "weather", outcome: "succeeded" }),
  fact(2000, "ticket-open", { ticketId: "k1", toolCallId: "c1" }),
  fact(2000, "tool-call-suspended", { toolCallId: "c1", toolName: "agent_run_refunds", outcome: "suspended" }),
  fact(2000, "run-suspended", {}),
  fact(2000 + DAY, "run-resumed", {}),
  fact(2000 + DAY, "decision-taken", {
    ticketId: "k1",
    action: "approve",
    by: "ana",
    decidedAt: 2000 + DAY,
    toolCallId: "c1",
    toolName: "x",
  }),
  fact(3000 + DAY, "child-end", {
    runId: "child",
    threadId: "t2",
    agentId: "refunds",
    agentPath: [],
    toolCallId: "c1",
    outcome: { ...outcome },
    usage,
  }),
  fact(3000 + DAY, "tool-call-resumed", { toolCallId: "c1", toolName: "agent_run_refunds", outcome: "succeeded" }),
  fact(4000 + DAY, "inference-complete", { ...answered(1000), finishReason: "end-turn" }),
  fact(4000 + DAY, "run-finished", {}),
];

describe("the trace of a run", () => {
  it("is read from what is stored: steps, inferences, tools, waits and children", () => {
    const { spans, pauses } = readTrace(EVENTS);
    expect(pauses).toEqual([{ from: 2000, to: 2000 + DAY }]);
    expect(spans).toMatchObject([
      {
        type: "step",
        startAt: 0,
        endAt: 2000,
        children: [
          { type: "inference", name: "m", startAt: 0, endAt: 1000, note: "10 in, 5 out" },
          {
            type: "tool",
            name: "agent_run_refunds",
            startAt: 1000,
            endAt: 2000,
            note: "waits",
            children: [{ type: "child", runId: "child", note: "done" }],
          },
          { type: "tool", name: "weather", startAt: 1000, endAt: 1500, note: "succeeded" },
        ],
      },
      { type: "wait", startAt: 2000, endAt: 2000 + DAY, note: "approve by ana" },
      { type: "tool", name: "agent_run_refunds", note: "succeeded" },
      { type: "step", startAt: 3000 + DAY, endAt: 4000 + DAY },
    ]);
  });

  it("is drawn over the time in which the run was active: a day of waiting does not hide the work", () => {
    const lines = drawTrace(readTrace(EVENTS), 4000 + DAY, 40);
    const bars = lines.map((line) => line.slice(line.indexOf("│") + 1, line.lastIndexOf("│")));
    expect(bars[0]).toBe("─".repeat(20).padEnd(40));
    expect(bars[1]).toBe("█".repeat(10).padEnd(40));
    expect(lines[3]).toMatch(/^ {4}↳ refunds +│/);
    expect(bars[5]).toBe(`${" ".repeat(20)}╌`.padEnd(40));
    expect(lines[5]).toMatch(/⏸ agent_run_refunds +│.*│ 1 d {2}approve by ana$/);
    expect(bars.at(-1)).toBe(`${" ".repeat(30)}${"█".repeat(10)}`);
    expect([5, 1500, 90_000, 7_200_000, 3 * DAY].map(timeSpan)).toEqual(["5 ms", "1.5 s", "1.5 min", "2 h", "3 d"]);
  });

  it("is empty for a run without events", () => {
    expect(drawTrace(readTrace([]), 0, 40)).toEqual([]);
  });

  it("awaken trace: of a run, of the last run of a thread, as JSON, and of nothing", async () => {
    const cwd = folders.project();
    await cli(["run", "refund", "--agent", "assistant", "--thread", "t2"], { cwd });
    const drawn = await cli(["trace", "t2", "--store", join(cwd, "awaken.db")], { cwd: folders.empty() });
    expect(drawn).toMatchObject({ code: 0, stderr: "" });
    expect(drawn.stdout).toMatch(/^run +\S+ \(assistant, waiting\)$/m);
    expect(drawn.stdout).toMatch(/^step 1 +│─+ *│/m);
    expect(drawn.stdout).toMatch(/^ {2}◆ \S+ +│.*│ \d+ m?s {2}\d+ in, \d+ out$/m);
    expect(drawn.stdout).toMatch(/^ {2}▸ refund +│.*waits$/m);
    expect(drawn.stdout).toMatch(/^⏸ refund +│.* so far {2}open$/m);
    const [json] = jsonLines((await cli(["trace", "t2", "--json"], { cwd })).stdout);
    expect(json).toMatchObject({ type: "trace", run: { threadId: "t2" }, spans: [{ type: "step" }, { type: "wait" }] });
    expect(await cli(["trace", "nobody"], { cwd })).toMatchObject({ code: expect.not.closeTo(0), stdout: "" });
  });

  it("awaken trace: a delegated run is drawn below the call that asked for it, with its own steps, also when both waited", async () => {
    const file = join(folders.empty(), "team.db");
    const runtime = createRuntime({
      providers: {
        lead: scripted([toolCall("agent_run_clerk", { prompt: "pay" }, { id: "c1" }), text("done")]),
        clerk: scripted([toolCall("pay", {}, { id: "p1" }), text("paid")]),
      },
      models: { lead: { provider: "lead", model: "lead-1" }, clerk: { provider: "clerk", model: "clerk-1" } },
      agents: { lead: { model: "lead", tools: [], delegates: ["clerk"] }, clerk: { model: "clerk", description: "Pays", tools: ["pay"] } },
      tools: [defineTool({ id: "pay", description: "", input: z.object({}), approve: () => ask("Pay?"), execute: () => "paid" })],
      store: sqliteStore(file),
    });
    const waiting = await runtime.run({ agent: "lead", thread: "t", input: "go" });
    const [ticket] = waiting.status === "waiting" ? waiting.tickets : [];
    const decided = await runtime.decide(ticket?.id ?? "", { action: "approve" });
    expect(await decided.result).toMatchObject({ status: "done", runId: waiting.runId });
    await runtime.close();
    const drawn = await cli(["trace", waiting.runId, "--store", file], { cwd: folders.empty() });
    expect(drawn).toMatchObject({ code: 0, stderr: "" });
    const labels = drawn.stdout.split("\n").flatMap((line) => (line.includes("│") ? [line.slice(0, line.indexOf("│")).trimEnd()] : []));
    expect(labels).toEqual([
      "step 1",
      "  ◆ lead-1",
      "  ▸ agent_run_clerk",
      "    ↳ clerk",
      "      step 1",
      "        ◆ clerk-1",
      "        ▸ pay",
      "      ⏸ pay",
      "      ▸ pay",
      "      step 2",
      "        ◆ clerk-1",
      "▸ agent_run_clerk",
      "step 2",
      "  ◆ lead-1",
    ]);
    expect(drawn.stdout).toMatch(/^ {4}↳ clerk +│.*done$/m);
  });
});
