import { type AgentEvent, messageId, NO_USAGE, runId, STATE_SCHEMA_VERSION, threadId, toolCallId } from "@awaken/contract";
import { describe, expect, it } from "vitest";
import { checkEvents } from "./event-checker.ts";

const ids = { threadId: threadId("t"), runId: runId("r") };
const identity = { ...ids, agentId: "a", origin: "user", runMode: "foreground", adapter: "internal" } as const;
const id = toolCallId("c");
const named = { toolCallId: id, toolName: "x" };

const runStart: AgentEvent = { type: "run-start", ...ids, identity, answerId: messageId("m"), resumed: false };
const stepStart = (step = 1): AgentEvent => ({ type: "step-start", step, messageId: messageId("m"), agentId: "a" });
const stepEnd = (step = 1): AgentEvent => ({ type: "step-end", step });
const delta: AgentEvent = { type: "text-delta", delta: "a" };
const inferenceEnd: AgentEvent = {
  type: "inference-end",
  provider: "p",
  model: "m",
  usage: NO_USAGE,
  durationMs: 0,
  finishReason: "end-turn",
};
const snapshot: AgentEvent = { type: "state-snapshot", snapshot: { schemaVersion: STATE_SCHEMA_VERSION, revision: 0, extensions: {} } };
const callStart: AgentEvent = { type: "tool-call-start", ...named };
const ready: AgentEvent = { type: "tool-call-ready", ...named, input: {}, runsAt: "server", dynamic: false };
const output: AgentEvent = { type: "tool-call-stream-delta", ...named, delta: "x" };
const resumed: AgentEvent = {
  type: "tool-call-resumed",
  toolCallId: id,
  toolName: "t",
  messageId: messageId("m"),
  outcome: "succeeded",
  result: 1,
};
const callEnd = (outcome: "succeeded" | "suspended" = "succeeded"): AgentEvent => ({
  type: "tool-call-end",
  ...named,
  messageId: messageId("m"),
  outcome,
  result: { type: "success", data: 1 },
});
const runEnd: AgentEvent = {
  type: "run-end",
  ...ids,
  termination: { type: "natural-end" },
  tickets: [],
  result: { response: "", status: "done" },
  usage: NO_USAGE,
  usageByModel: [],
};

const call = [callStart, ready, inferenceEnd];
const closed = (...inside: readonly AgentEvent[]) => [runStart, stepStart(), ...inside, snapshot, stepEnd(), snapshot, runEnd];
const waits = [runStart, stepStart(), ...call, callEnd("suspended"), snapshot, stepEnd()];
const otherId = toolCallId("d");
const otherCall = [{ ...callStart, toolCallId: otherId } as AgentEvent, { ...ready, toolCallId: otherId } as AgentEvent];
const twoCalls = [callStart, otherCall[0], ready, otherCall[1], inferenceEnd].flatMap((event) => event ?? []);

describe("checkEvents", () => {
  it("accepts what the order allows", () => {
    checkEvents(closed(delta, inferenceEnd));
    checkEvents(closed(...call, output, callEnd()));
    checkEvents(closed(...call));
    checkEvents([runStart, snapshot, runEnd]);
    checkEvents([...waits, snapshot, runEnd]);
    checkEvents([runStart, output, resumed, stepStart(2), inferenceEnd, snapshot, stepEnd(2), snapshot, runEnd]);
    checkEvents([runStart, callEnd("suspended"), snapshot, runEnd]);
    // One that takes long, and one that is held behind a call that waits.
    checkEvents(closed(...twoCalls, { ...callEnd(), toolCallId: otherId } as AgentEvent, callEnd()));
    checkEvents(closed(...twoCalls, callEnd("suspended")));
    checkEvents(closed(callStart, { type: "stream-reset", reason: "x" }, ...call, callEnd()));
  });

  const other = toolCallId("d");
  const broken: readonly (readonly [string, readonly AgentEvent[]])[] = [
    ["nothing", []],
    ["no run-start", [snapshot, runEnd]],
    ["run-start twice", [runStart, runStart, snapshot, runEnd]],
    ["no terminal event", [runStart, snapshot]],
    ["something after the terminal event", [runStart, snapshot, runEnd, snapshot]],
    ["two terminal events", [runStart, snapshot, runEnd, snapshot, runEnd]],
    ["the end of another run", [runStart, snapshot, { ...runEnd, runId: runId("other") } as AgentEvent]],
    ["no snapshot before the end", [runStart, runEnd]],
    ["an end without a result", [runStart, snapshot, { ...runEnd, result: undefined } as unknown as AgentEvent]],
    ["an event with a field that its type does not have", [runStart, snapshot, { ...runEnd, extra: 1 } as AgentEvent]],
    ["an event of a type that does not exist", [runStart, { type: "no-such-event" } as unknown as AgentEvent, snapshot, runEnd]],
    ["a call of before inside a step", closed(resumed, inferenceEnd)],
    ["a call that is left without a completion", closed(...twoCalls, callEnd())],
    ["a completion of a call that did not come", closed(...call, { ...callEnd(), toolCallId: otherId } as AgentEvent)],
    ["an open step at the end", [runStart, stepStart(), snapshot, runEnd]],
    ["nested steps", [runStart, stepStart(), stepStart(2)]],
    ["a step that is skipped", [...closed(inferenceEnd).slice(0, -2), stepStart(3)]],
    ["no snapshot before the end of a step", [runStart, stepStart(), inferenceEnd, stepEnd()]],
    ["a delta after the inference", closed(inferenceEnd, delta)],
    ["a delta after a ready call", closed(callStart, ready, delta)],
    ["a delta outside a step", [runStart, delta]],
    ["two inferences in a step", closed(inferenceEnd, inferenceEnd)],
    ["a call that is ready before its start", closed(ready)],
    ["a call that is ready twice", closed(callStart, ready, ready)],
    [
      "calls that are ready in another order than declared",
      closed(callStart, { ...callStart, toolCallId: other } as AgentEvent, { ...ready, toolCallId: other } as AgentEvent, ready),
    ],
    ["a completion before the inference has ended", closed(callStart, ready, callEnd())],
    ["two completions of one call", closed(...call, callEnd(), callEnd())],
    ["output after the completion", closed(...call, callEnd(), output)],
    ["a resumption inside a step", [runStart, stepStart(2), resumed]],
    ["two resumptions of one call", [runStart, resumed, resumed]],
    ["a resumption of a call that was over", [...closed(...call, callEnd()).slice(0, -2), resumed]],
    ["a completion outside a step", [runStart, callEnd()]],
    ["a step after one whose calls were not run", [...closed(...call).slice(0, -2), stepStart(2)]],
  ];
  it.each(broken)("refuses %s", (_name, events) => {
    expect(() => checkEvents(events)).toThrowError(/event \d+|no terminal event/);
  });
});
