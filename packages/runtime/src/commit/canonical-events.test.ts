import { messageId, type RunIdentity, runId, threadId, toolCallId } from "@awaken/contract";
import { describe, expect, it } from "vitest";
import { canonicalEvent } from "./canonical-events.ts";

/** As the compiler has it: a field that every identity has is in here, or this does not compile. */
const usual: RunIdentity = {
  threadId: threadId("t"),
  runId: runId("r"),
  agentId: "a",
  origin: "user",
  runMode: "foreground",
  adapter: "internal",
};

const more: Partial<RunIdentity> = {
  parentRunId: runId("p"),
  rootRunId: runId("q"),
  parentThreadId: threadId("u"),
  agentPath: ["lead", "a"],
  ancestors: [{ runId: runId("p"), threadId: threadId("u") }],
  parentToolCallId: toolCallId("c"),
  taskId: "bg_1",
  sessionId: "s",
  transportRequestId: "x",
  correlationId: "y",
  traceParent: "z",
};

const identityTold = (identity: RunIdentity): unknown =>
  canonicalEvent(identity, { type: "run-start", ...usual, identity, answerId: messageId("m"), resumed: false }, false, {
    calls: new Set(),
    asked: [],
  }).draft.payload["identity"];

describe("the fact of a run's start", () => {
  it.each([[], ...Object.keys(more).map((name) => [name]), Object.keys(more)])("has all of the identity but its ids: %s", (...names) => {
    const identity = { ...usual, ...Object.fromEntries(Object.entries(more).filter(([name]) => names.includes(name))) };
    const { threadId: _thread, runId: _run, ...rest } = identity;
    expect(identityTold(identity)).toEqual(rest);
  });
});
