import { type AgentEvent, runId, toolCallId } from "@awaken/contract";
import { describe, expect, test } from "vitest";
import { Passing, type Scene } from "./passing.ts";

const [R, OTHER] = [runId("r"), runId("other")];
const activity = (id: string, content: string): AgentEvent => ({ type: "activity-snapshot", messageId: id, activityType: "task", content });
const state: AgentEvent = { type: "state-snapshot", snapshot: { schemaVersion: 1, revision: 1, extensions: {} } };
const output = (id: string): AgentEvent => ({ type: "tool-call-stream-delta", toolCallId: toolCallId(id), toolName: "t", delta: "." });
const ran = (id: string): AgentEvent => ({ type: "tool-call-run", toolCallId: toolCallId(id) });
const retry: AgentEvent = { type: "inference-retry", attempt: 1, delayMs: 1, reason: "busy" };

/** Behind step 2, unless told otherwise. */
const scene = (given: Partial<Scene> = {}, ...over: readonly string[]): Scene => ({
  ...{ run: R, done: undefined, step: 2, pending: undefined, shown: undefined, isOpening: false },
  isCallOver: (id) => over.includes(id),
  ...given,
});

function heard(step: number, ...events: readonly AgentEvent[]): Passing {
  const passing = new Passing();
  passing.hear(
    R,
    events.map((event) => ({ step, event })),
  );
  return passing;
}

describe("what only listeners hear", () => {
  test("how something stands is told late rather than not at all, and never inside of an answer", () => {
    const passing = heard(1, activity("a", "completed"), state);
    expect(passing.take(scene({ shown: 3 }))).toEqual([]);
    expect(passing.take(scene({ step: 3, pending: 1 }))).toEqual([activity("a", "completed")]);
    expect(passing.take(scene({ step: 3, pending: 0 }))).toEqual([state]);
    expect(passing.take(scene())).toEqual([]);
  });

  test("what a call says is told in its round, until it has its result", () => {
    const passing = heard(2, ran("c"), output("c"), ran("d"));
    expect(passing.take(scene({ step: 1 }))).toEqual([]);
    expect(passing.take(scene({ pending: 2 }, "c"))).toEqual([ran("d")]);
    expect(heard(1, output("c")).take(scene({ pending: 1 }))).toEqual([]);
    expect(heard(1, output("c")).take(scene())).toEqual([]);
    // Before the first step of a run that goes on, it is about calls that waited.
    expect(heard(0, ran("c")).take(scene({ isOpening: true }))).toEqual([ran("c")]);
    expect(heard(0, ran("c")).take(scene())).toEqual([]);
  });

  test("that the model is asked again is told inside of the answer", () => {
    const passing = heard(3, retry);
    expect(passing.take(scene())).toEqual([]);
    expect(passing.take(scene({ shown: 3 }))).toEqual([retry]);
    expect(heard(2, retry).take(scene({ shown: 3 }))).toEqual([]);
  });

  test("what a run says before its start was read waits for it, however many steps the run before had; at its end how things stand is told", () => {
    const passing = heard(1, activity("a", "running"), ran("c"), activity("a", "completed"));
    expect(passing.take(scene({ run: undefined, done: OTHER, step: 9 }))).toEqual([]);
    expect(passing.take(scene({ run: OTHER, step: 9 }))).toEqual([]);
    expect(passing.end(OTHER, true)).toEqual([]);
    expect(passing.end(R, true)).toEqual([activity("a", "running"), activity("a", "completed")]);
    // Word from elsewhere that is late is not about what comes.
    const late = heard(0, ran("c"));
    expect(late.take(scene({ run: undefined }))).toEqual([]);
    expect(late.take(scene({ isOpening: true }))).toEqual([]);
    passing.hear(R, [{ step: 1, event: state }]);
    expect(passing.take(scene({ run: undefined, done: R }))).toEqual([]);
  });

  test("what a run says that went on is told when it is read that it did", () => {
    const [first, second] = [{}, {}];
    const passing = new Passing();
    passing.hear(R, [{ step: 2, event: state }], first);
    passing.hear(R, [{ step: 0, event: ran("c") }], second);
    passing.hear(R, [{ step: 0, event: activity("a", "completed") }], second);
    expect(passing.take(scene({ pending: 1 }))).toEqual([]);
    expect(passing.end(R, false)).toEqual([state]);
    passing.begin(R, false);
    expect(passing.take(scene({ isOpening: true }))).toEqual([ran("c"), activity("a", "completed")]);
  });

  test("of a run that was cut off, how things stood is told, and not held back for what comes from its next owner", () => {
    const [first, second] = [{}, {}];
    const passing = new Passing();
    passing.hear(
      R,
      [ran("c"), activity("a", "running")].map((event) => ({ step: 3, event })),
      first,
    );
    passing.begin(R, true);
    passing.hear(R, [{ step: 3, event: ran("d") }], second);
    expect(passing.take(scene({ step: 3, pending: 1 }))).toEqual([activity("a", "running"), ran("d")]);
  });

  test("a reader that is too slow loses what was said, and knows how things stand", () => {
    const passing = heard(2, activity("a", "running"), activity("b", "running"), activity("a", "completed"), state);
    passing.hear(
      R,
      Array.from({ length: 300 }, () => ({ step: 2, event: output("c") })),
    );
    const told = passing.take(scene({ pending: 0 }));
    expect(told.slice(0, 3)).toEqual([activity("b", "running"), activity("a", "completed"), state]);
    expect(told.length).toBeLessThan(256);
  });

  test("nothing is told to one who only reads", () => {
    const passing = heard(2, state);
    passing.isHeld = true;
    expect([...passing.take(scene()), ...passing.end(R, false)]).toEqual([]);
    passing.isHeld = false;
    expect(passing.take(scene())).toEqual([state]);
  });
});
