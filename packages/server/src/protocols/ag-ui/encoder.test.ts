import { AbstractAgent, type BaseEvent, enforceEvents, verifyEvents } from "@ag-ui/client";
import { EventSchemas as OlderSchemas, verifyEvents as verifyOlder } from "@ag-ui/client-0";
import { EventSchemas } from "@ag-ui/core/schemas";
import type { AgentEvent } from "@awaken/contract";
import { from, lastValueFrom, toArray } from "rxjs";
import { describe, expect, test, vi } from "vitest";
import { goldenLog, goldenLogs } from "../golden.test-support.ts";
import { AgUiEncoder } from "./encoder.ts";
import { AG_UI_DIALECTS, type AgUiDialect, type AgUiFrame } from "./frame.ts";

type Activations = readonly (readonly AgentEvent[])[];

/** The stream of each activation, as the client that asks for it gets it. */
function streamsOf(activations: Activations, dialect: AgUiDialect = "1.0"): AgUiFrame[][] {
  const encoder = new AgUiEncoder({ dialect });
  return activations.map((events, index) => {
    encoder.begin({ runId: `request-${index}` });
    return events.flatMap((event) => [...encoder.encode(event)]);
  });
}

const isEvent = (frame: unknown): frame is BaseEvent => typeof frame === "object" && frame !== null && "type" in frame;
const eventsOf = (frames: readonly AgUiFrame[]): BaseEvent[] => {
  const plain: unknown[] = JSON.parse(JSON.stringify(frames));
  return plain.filter(isEvent);
};
const fromJson = (value: unknown): AgentEvent[] => JSON.parse(JSON.stringify(value));
const typesOf = (frames: readonly AgUiFrame[]): string[] => frames.map(({ type }) => type);

/** The official client, which is told these frames. */
class Played extends AbstractAgent {
  readonly #frames: readonly AgUiFrame[];

  constructor(frames: readonly AgUiFrame[]) {
    super({ threadId: "t" });
    this.#frames = frames;
  }

  override run() {
    return from(eventsOf(this.#frames));
  }

  /** What it has in the end. */
  static async messagesOf(frames: readonly AgUiFrame[]): Promise<Record<string, unknown>[]> {
    const agent = new Played(frames);
    await agent.runAgent({ runId: "request-0" });
    return JSON.parse(JSON.stringify(agent.messages));
  }
}

/** A run from the log with something else in the middle. */
function runWith(events: readonly AgentEvent[], end = "text"): Activations {
  const [start, , step] = goldenLog("text").activations[0] ?? [];
  const last = goldenLog(end).activations.at(-1)?.at(-1);
  if (start === undefined || step === undefined || last === undefined) throw new Error("the log has a start and an end");
  return [[start, step, ...events, last]];
}

describe.each(AG_UI_DIALECTS)("dialect %s", (dialect) => {
  test.each(goldenLogs)(
    "protocols 32, 73: the client of that version takes every stream of $name, without a warning",
    async ({ activations }) => {
      const warn = vi.spyOn(console, "warn");
      for (const frames of streamsOf(activations, dialect)) {
        const schema = dialect === "1.0" ? EventSchemas : OlderSchemas;
        for (const frame of eventsOf(frames)) expect(schema.safeParse(frame), JSON.stringify(frame)).toMatchObject({ success: true });
        const verified =
          dialect === "1.0"
            ? from(eventsOf(frames)).pipe(enforceEvents(), verifyEvents(false), toArray())
            : from(eventsOf(frames)).pipe(verifyOlder(false), toArray());
        expect(await lastValueFrom(verified)).toHaveLength(frames.length);
      }
      expect(warn).not.toHaveBeenCalled();
    },
  );

  test.each(goldenLogs)("protocols 1: $name gives the same bytes twice", ({ activations }) => {
    const bytes = () => JSON.stringify(streamsOf(activations, dialect));
    expect(bytes()).toBe(bytes());
  });

  test.each(goldenLogs)("protocols 23, 24, 25, 75: $name begins, ends and closes all that it opened", ({ activations }) => {
    for (const [index, frames] of streamsOf(activations, dialect).entries()) {
      const runId = `request-${index}`;
      expect(frames[0]).toMatchObject({ type: "RUN_STARTED", runId });
      const ends = frames.filter(({ type }) => type === "RUN_FINISHED" || type === "RUN_ERROR");
      expect(ends).toEqual([frames.at(-1)]);
      if (ends[0]?.type === "RUN_FINISHED") expect(ends[0].runId).toBe(runId);
      const count = (type: string) => typesOf(frames).filter((each) => each === type).length;
      for (const [opened, closed] of [
        ["STEP_STARTED", "STEP_FINISHED"],
        ["TEXT_MESSAGE_START", "TEXT_MESSAGE_END"],
        ["TOOL_CALL_START", "TOOL_CALL_END"],
        ["REASONING_MESSAGE_START", "REASONING_MESSAGE_END"],
        ["REASONING_START", "REASONING_END"],
      ] as const)
        expect(count(closed), `${opened} of ${index}`).toBe(count(opened));
    }
  });
});

test("protocols 29: a run that waits for approvals ends with one interrupt for each", () => {
  const [frames = []] = streamsOf(goldenLog("parallel-approvals").activations);
  expect(frames.at(-1)).toMatchObject({
    outcome: {
      type: "interrupt",
      interrupts: [
        { id: "id-4", reason: "tool_call", toolCallId: "c1", message: "Refund 120?", responseSchema: { required: ["approved"] } },
        { id: "id-6", toolCallId: "c2" },
      ],
    },
  });
});

test("protocols 72: a run that waits for tools of the page ends well, and says for which", () => {
  const { activations } = goldenLog("frontend-tool");
  expect(streamsOf(activations)[0]?.at(-1)).toMatchObject({ outcome: { type: "success", pendingToolCallIds: ["c1"] } });
  expect(streamsOf(activations, "older")[0]?.at(-1)).toMatchObject({ outcome: { type: "success" } });
  expect(JSON.stringify(streamsOf(activations, "older"))).not.toContain("pendingToolCallIds");
  // What the page sent itself it is not told again.
  expect(typesOf(streamsOf(activations)[1] ?? [])).not.toContain("TOOL_CALL_RESULT");
});

test("protocols 74: a cancelled run says so, with all that it opened closed", () => {
  const events: AgentEvent[] = [
    { type: "text-delta", delta: "so" },
    { type: "reasoning-delta", delta: "hm" },
    ...fromJson([{ type: "tool-call-start", toolCallId: "c1", toolName: "pay" }]),
  ];
  const [frames = []] = streamsOf(runWith(events, "cancelled"));
  expect(frames.at(-1)).toMatchObject({ type: "RUN_FINISHED", outcome: { type: "cancelled" } });
  expect(typesOf(frames)).toEqual([
    "RUN_STARTED",
    "STEP_STARTED",
    "TEXT_MESSAGE_START",
    "TEXT_MESSAGE_CONTENT",
    "TEXT_MESSAGE_END",
    "REASONING_START",
    "REASONING_MESSAGE_START",
    "REASONING_MESSAGE_CONTENT",
    "REASONING_MESSAGE_END",
    "REASONING_END",
    "TOOL_CALL_START",
    "TOOL_CALL_END",
    "TOOL_CALL_RESULT",
    "STEP_FINISHED",
    "RUN_FINISHED",
  ]);
});

test("protocols 79: thought is closed before the end, and what nobody can read says what it belongs to", () => {
  const [frames = []] = streamsOf(
    runWith([
      { type: "reasoning-delta", delta: "hm" },
      { type: "reasoning-encrypted-value", encryptedValue: "x" },
    ]),
  );
  const value = frames.find(({ type }) => type === "REASONING_ENCRYPTED_VALUE");
  const opened = frames.find(({ type }) => type === "REASONING_MESSAGE_START");
  expect(value).toMatchObject({ subtype: "message", entityId: opened?.type === "REASONING_MESSAGE_START" ? opened.messageId : "" });
  expect(typesOf(frames).indexOf("REASONING_END")).toBeLessThan(typesOf(frames).indexOf("RUN_FINISHED"));
});

test("protocols 80: what a tool streams is one activity with all of it, in the official client too", async () => {
  const streamed = ["on", "e"].map((delta) => ({ type: "tool-call-stream-delta", toolCallId: "c1", toolName: "look", delta }));
  const [frames = []] = streamsOf(runWith(fromJson([{ type: "tool-call-start", toolCallId: "c1", toolName: "look" }, ...streamed])));
  const activities = frames.filter(({ type }) => type.startsWith("ACTIVITY"));
  expect(activities).toMatchObject([
    { type: "ACTIVITY_SNAPSHOT", content: { toolCallId: "c1", output: "" } },
    { type: "ACTIVITY_DELTA", patch: [{ op: "replace", path: "/output", value: "on" }] },
    { type: "ACTIVITY_DELTA", patch: [{ value: "one" }] },
  ]);
  expect(new Set(activities.map((frame) => ("messageId" in frame ? frame.messageId : ""))).size).toBe(1);
  expect((await Played.messagesOf(frames)).filter(({ role }) => role === "activity")).toMatchObject([
    { activityType: "tool-stream-output", content: { toolCallId: "c1", output: "one" } },
  ]);
});

test("protocols 82: a delegate is announced, waits, and is announced again under its id", () => {
  const [first = [], second = []] = streamsOf(goldenLog("child-with-approval").activations);
  const started = first.find(({ type }) => type === "SUBAGENT_STARTED");
  const id = started?.type === "SUBAGENT_STARTED" ? started.subagentRunId : "";
  const asking = first.find(({ type }) => type === "TOOL_CALL_START");
  const parentToolCallId = asking?.type === "TOOL_CALL_START" ? asking.toolCallId : "";
  const attributed = { type: "SUBAGENT_STARTED", subagentRunId: id, name: expect.stringMatching(/./), parentToolCallId };
  expect(started).toMatchObject(attributed);
  expect(first).toContainEqual(
    expect.objectContaining({ type: "SUBAGENT_FINISHED", subagentRunId: id, outcome: expect.objectContaining({ type: "suspended" }) }),
  );
  expect(first.at(-1)).toMatchObject({ outcome: { type: "interrupt", interrupts: [{ subagentRunId: id }] } });
  const again = second.filter((frame) => frame.type === "SUBAGENT_STARTED" || frame.type === "SUBAGENT_FINISHED");
  expect(again).toMatchObject([attributed, { type: "SUBAGENT_FINISHED", subagentRunId: id, outcome: { type: "success" } }]);
});

test("protocols 83: usage is by provider and model, all inferences of one together, and of this activation alone", () => {
  const used = (provider: string, model: string, tokens: number, more: object = {}): AgentEvent[] => {
    const usage = { inputTokens: tokens, outputTokens: 1, totalTokens: tokens + 1, ...more };
    return fromJson([{ type: "inference-end", provider, model, usage, durationMs: 1, finishReason: "end-turn" }]);
  };
  const first = [
    ...used("house", "fast-1", 10, { cacheReadTokens: 4, reasoningTokens: 1 }),
    ...used("house", "large-1", 7),
    ...used("house", "fast-1", 5, { cacheReadTokens: 2 }),
    ...used("barn", "fast-1", 3),
  ];
  const [one = [], two = []] = streamsOf([...runWith(first), ...runWith(used("house", "fast-1", 2))]);
  const usageOf = (frames: readonly AgUiFrame[]) => {
    const last = frames.at(-1);
    return last?.type === "RUN_FINISHED" ? last.usage : undefined;
  };
  const fast = { provider: "house", model: "fast-1" };
  expect(usageOf(one)).toEqual([
    { ...fast, inputTokens: 15, outputTokens: 2, totalTokens: 17, cachedInputTokens: 6, reasoningTokens: 1 },
    { provider: "house", model: "large-1", inputTokens: 7, outputTokens: 1, totalTokens: 8 },
    { provider: "barn", model: "fast-1", inputTokens: 3, outputTokens: 1, totalTokens: 4 },
  ]);
  expect(usageOf(two)).toEqual([{ ...fast, inputTokens: 2, outputTokens: 1, totalTokens: 3 }]);
});

test("protocols 81: what the model takes back is gone, in the official client too, and no call of it is told as pending", async () => {
  const events = fromJson([
    { type: "text-delta", delta: "old" },
    { type: "tool-call-start", toolCallId: "c1", toolName: "look" },
    { type: "stream-reset", reason: "the stream broke" },
    { type: "text-delta", delta: "new" },
  ]);
  const [frames = []] = streamsOf(runWith(events));
  const at = frames.findIndex(({ type }) => type === "MESSAGES_SNAPSHOT");
  expect(JSON.stringify(frames[at])).not.toContain("old");
  expect(typesOf(frames.slice(0, at)).slice(-2)).toEqual(["TOOL_CALL_START", "TOOL_CALL_END"]);
  expect(frames.slice(at)).toContainEqual(expect.objectContaining({ type: "TEXT_MESSAGE_CONTENT", delta: "new" }));
  expect(frames.at(-1)).toMatchObject({ outcome: { type: "success" } });
  expect(JSON.stringify(frames.slice(at))).not.toContain("c1");
  const [last, ...more] = (await Played.messagesOf(frames)).toReversed();
  expect(last).toMatchObject({ role: "assistant", content: "new" });
  expect(JSON.stringify([last, ...more])).not.toMatch(/old|c1/);
});
